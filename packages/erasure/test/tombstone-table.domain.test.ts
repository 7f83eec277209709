import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createTombstoneTable } from '../src/tombstones/tombstone-table.ts'

test('a table of many tombstones finds each of them, up to the number that is asked, and no other', () => {
  const table = createTombstoneTable()
  // Equal first words fall on one slot.
  const hashes = Array.from({ length: 5000 }, (_, n) => {
    const hash = randomBytes(16)
    if (n % 3 === 0) hash.writeUInt32LE(7, 0)
    return hash
  })
  for (const [n, hash] of hashes.entries()) table.add(hash, n + 1, 1000 + n)
  expect(hashes.map((hash) => table.find(hash, 5000))).toEqual(hashes.map((_, n) => 1000 + n))
  expect(hashes.map((hash) => table.find(hash, 2500))).toEqual(hashes.map((_, n) => (n < 2500 ? 1000 + n : null)))
  expect(table.find(randomBytes(16), 5000)).toBeNull()
})

test('of several tombstones of an install the greatest mark counts', () => {
  const table = createTombstoneTable()
  const hash = randomBytes(16)
  table.add(hash, 1, 50)
  table.add(hash, 2, 70)
  table.add(hash, 3, 60)
  expect([1, 2, 3].map((number) => table.find(hash, number))).toEqual([50, 70, 70])
})
