import { expect, test } from 'vitest'
import { createRawSlots } from '../../src/raw/raw-slots.ts'

const busy = expect.objectContaining({ code: 'busy', headers: { 'retry-after': '1' } })

test('an app has one raw answer at a time, all apps together so many, and a slot that is free is taken again', () => {
  const slots = createRawSlots(2, 2)
  const take = (app_id: string) => slots({ app_id, company_id: 'co' })
  const free = take('a')
  expect(() => take('a')).toThrow(busy)
  const other = take('b')
  expect(() => take('c')).toThrow(busy)
  free()
  free()
  expect(() => take('b')).toThrow(busy)
  take('c')
  expect(() => take('a')).toThrow(busy)
  other()
  take('a')
})

test('a company with many apps and slow readers leaves a slot to others', () => {
  const take = createRawSlots(4, 3)
  const of = (company_id: string, app_id: string) => take({ app_id, company_id })
  const free = of('many', 'a')
  of('many', 'b')
  of('many', 'c')
  expect(() => of('many', 'd')).toThrow(busy)
  of('other', 'e')
  free()
  of('many', 'd')
})
