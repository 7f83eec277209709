import fc from 'fast-check'
import { expect, test } from 'vitest'
import { firstIndex } from '../src/first-index.ts'

test('the first item from a value on is the one that a loop finds', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ max: 9, min: 0 })), fc.integer({ max: 10, min: -1 }), (numbers, from) => {
      const ordered = numbers.toSorted((a, b) => a - b)
      const index = ordered.findIndex((number) => number >= from)
      expect(firstIndex(ordered, (number) => number >= from)).toBe(index === -1 ? ordered.length : index)
    }),
  )
})
