import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createPieces } from '../src/bodies/pieces.ts'

test('a body is joined from pieces of any size, in their order', () => {
  const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 70_000 })), {
    maxLength: 60,
  })
  fc.assert(
    fc.property(sizes, (all) => {
      const sent = all.map((size) => randomBytes(size))
      const pieces = createPieces()
      for (const piece of sent) pieces.add(piece)
      expect(pieces.join().equals(Buffer.concat(sent))).toBe(true)
    }),
    { numRuns: 100 },
  )
})

test('a body in chunks of a byte is kept in few Buffers', () => {
  const pieces = createPieces()
  for (let n = 0; n < 1_000_000; n += 1) pieces.add(Buffer.of(n & 255))
  expect(pieces.count()).toBeLessThan(100)
  expect(pieces.join().length).toBe(1_000_000)
})
