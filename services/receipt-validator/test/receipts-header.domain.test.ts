import { expect, it } from 'vitest'
import { type FinderDeps, receiptFinder } from '../src/receipt-finder.ts'

it.each([
  ['says that it has one', { receipts: '1' }, true],
  ['says that it has none', { receipts: '0' }, false],
  ['says nothing, as those of older versions', { facts: '0' }, true],
])('of a record that %s, the receipts are looked for: %j %s', (_what, headers, looks) => {
  expect(receiptFinder({} as FinderDeps).needsValue?.(headers)).toBe(looks)
})
