import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { storedMember } from '../../src/gzip/stored-member.ts'

test('stored members in a row inflate to their contents', () => {
  const content = fc.uint8Array({ maxLength: 70_000, size: 'max' }).map((array) => Buffer.from(array))
  fc.assert(
    fc.property(fc.array(content, { minLength: 1, maxLength: 3 }), (contents) => {
      const fitting = contents.map((one) => one.subarray(0, 0xffff))
      expect(gunzipSync(Buffer.concat(fitting.map(storedMember))).equals(Buffer.concat(fitting))).toBe(true)
    }),
    { numRuns: 30 },
  )
  expect(() => storedMember(Buffer.alloc(0x10000))).toThrow(RangeError)
})
