import { expect, test } from 'vitest'
import { createSlots } from '../../src/turns/slots.ts'

const busy = expect.objectContaining({ code: 'busy', headers: { 'retry-after': '1' } })

test('an app has one raw answer at a time, all apps together so many, and a slot that is free is taken again', () => {
  const take = createSlots(2, 'raw answer')
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
