import { partNames } from '@tributary/service-kit/settings/part-settings'
import { declaredProcesses, declaredServices } from '@tributary/testing/declared-services'
import { expect, test } from 'vitest'
import { services } from '../src/service.ts'

test('runs every service that there is', async () => {
  const names = (await declaredServices()).map(({ name }) => name)
  expect(services.map(({ name }) => name).sort()).toEqual(names)
})

test('settings know the parts of processes', async () => {
  const parted = (await declaredProcesses()).filter(({ isParted }) => isParted)
  expect(parted.flatMap(({ parts }) => parts.map(({ name }) => name)).sort()).toEqual([...partNames].sort())
})
