import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { createTombstoneHash } from '../src/tombstones/tombstone-hash.ts'
import { createTombstoneTable } from '../src/tombstones/tombstone-table.ts'

/** Every third was written where nobody had read the log. */
const endOf = (n: number) => (n % 3 === 1 ? null : { source: `log@${n % 2}`, offset: Math.floor(n / 25) })

test('a table of many tombstones finds each of them, up to the number that is asked, and no other', () => {
  const table = createTombstoneTable()
  // Equal first words fall on one slot.
  const hashes = Array.from({ length: 5000 }, (_, n) => {
    const hash = randomBytes(16)
    if (n % 3 === 0) hash.writeUInt32LE(7, 0)
    return hash
  })
  for (const [n, hash] of hashes.entries()) table.add(hash, n + 1, 1000 + n, endOf(n))
  const found = hashes.map((_, n) => ({ mark_ms: 1000 + n, log_end: endOf(n) }))
  expect(hashes.map((hash) => table.find(hash, 5000))).toEqual(found)
  expect(hashes.map((hash) => table.find(hash, 2500))).toEqual(found.map((one, n) => (n < 2500 ? one : null)))
  expect(table.find(randomBytes(16), 5000)).toBeNull()
})

test('of several tombstones of an install the greatest mark counts, and the greatest end of a log', () => {
  const table = createTombstoneTable()
  const hash = randomBytes(16)
  const [old, end, next] = [9, 7, 8].map((offset, n) => ({ source: n === 0 ? 'log@1' : 'log@2', offset }))
  table.add(hash, 1, 50, old!)
  table.add(hash, 2, 70, next!)
  table.add(hash, 3, 60, null)
  table.add(hash, 4, 60, end!)
  expect([1, 2, 3, 4].map((number) => table.find(hash, number))).toEqual([
    { mark_ms: 50, log_end: old },
    ...[70, 70, 70].map((mark_ms) => ({ mark_ms, log_end: next })),
  ])
})

test('the hash of a tombstone is HMAC-SHA-256 with the salt of the company', () => {
  for (const bytes of [1, 32, 64]) {
    const salt = randomBytes(bytes)
    const hashOf = createTombstoneHash(salt)
    for (const id of ['', 'é', randomUUID(), 'x'.repeat(500)]) {
      const expected = createHmac('sha256', salt).update(`erased-click/app_1/${id}`).digest().subarray(0, 16)
      expect(hashOf('click', 'app_1', id)).toEqual(expected)
    }
  }
})
