import { declaredServices } from '@tributary/testing/declared-services'
import { expect, test } from 'vitest'
import { services } from '../src/service.ts'

test('runs every service that there is', async () => {
  const names = (await declaredServices()).map(({ name }) => name)
  expect(services.map(({ name }) => name).sort()).toEqual(names)
})
