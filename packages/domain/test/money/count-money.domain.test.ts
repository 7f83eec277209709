import { claimRanks } from '@tributary/contracts/rows'
import type { TransactionClaim } from '@tributary/domain/money/claims'
import { beatenClaims } from '@tributary/domain/money/claims'
import { countMoney, transactionsToLookUp } from '@tributary/domain/money/count-money'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'

const range = { topic: 't', partition: 1, from: 10 }
const row = (transaction_key: string, n = 0, app_id = 'app_1') => ({
  ...{ app_id, transaction_key, n, revenue_counts: 1 as 0 | 1 },
  ...{ claim_rank: claimRanks.backend, received_at_ms: 6 },
})
const claim = (given: Partial<TransactionClaim> = {}): TransactionClaim => ({
  app_id: 'app_1',
  transaction_key: '7',
  day: '2026-01-01',
  claim_rank: claimRanks.backend,
  received_at_ms: 5,
  topic: 't',
  partition: 1,
  offset: 3,
  ...given,
})
const count = (rows: ReturnType<typeof row>[], claims: TransactionClaim[] = []) => {
  const { rows: counted, contested } = countMoney(rows, claims, range)
  return {
    counted: counted.map(({ n, revenue_counts }) => (revenue_counts === 1 ? n : -n)),
    contested: contested.map(({ transaction_key }) => transaction_key),
  }
}

test('the first of a transaction has its money, in each app; what has no transaction always does', () => {
  const rows = [row('7', 1), row('0', 2), row('7', 3), row('8', 4), row('0', 5), row('7', 6, 'app_2')]
  expect(count(rows)).toEqual({ counted: [1, 2, -3, 4, 5, 6], contested: [] })
  expect(transactionsToLookUp(rows)).toHaveLength(4)
})

test('a claim of an earlier batch of the partition has the money', () => {
  expect(count([row('7', 1), row('7', 2)], [claim()])).toEqual({ counted: [-1, -2], contested: [] })
})

test('a better claim than an earlier one of the partition has the money, and is told, so that the earlier one is cancelled', () => {
  const phone = claim({ claim_rank: claimRanks.sdk })
  expect(count([row('7', 1), row('7', 2)], [phone])).toEqual({ counted: [1, -2], contested: ['7'] })
  const later = claim({ received_at_ms: 7 })
  expect(count([row('7', 1)], [later])).toEqual({ counted: [1], contested: ['7'] })
})

test('claims of this very batch change nothing, so that it makes the same rows when it comes again', () => {
  for (const offset of [10, 11, 99]) {
    expect(count([row('7', 1), row('7', 2)], [claim({ offset })])).toEqual({ counted: [1, -2], contested: [] })
  }
})

test('claims of other partitions change no row either: they are told, once, to be settled apart', () => {
  const elsewhere = [claim({ partition: 0 }), claim({ partition: 2, offset: 1 }), claim({ topic: 'other' })]
  expect(count([row('7', 1), row('7', 2), row('8', 3)], elsewhere)).toEqual({ counted: [1, -2, 3], contested: ['7'] })
  expect(count([row('7', 1)], [...elsewhere, claim()])).toEqual({ counted: [-1], contested: [] })
})

test('of several claims the first received stays, then the one of the lower position, whatever the order they come in', () => {
  const first = claim({ received_at_ms: 4, partition: 9, offset: 9 })
  const later = [
    claim({ partition: 0 }),
    claim({ partition: 0, offset: 4 }),
    claim(),
    claim({ topic: 'u', partition: 0 }),
  ]
  const alone = claim({ transaction_key: '8' })
  const other = claim({ app_id: 'app_2' })
  for (const order of [[first, ...later], [...later, first], later.toReversed().toSpliced(1, 0, first)]) {
    const found = beatenClaims([alone, ...order, other])
    expect(new Set(found)).toEqual(new Set(later))
  }
  expect(beatenClaims(later.toReversed())).not.toContain(later[0])
})

test('whatever comes in whatever order, each transaction has the money of its best claim, and of no other', () => {
  const { sdk, backend, receipt } = claimRanks
  const arrival = fc.record({
    partition: fc.nat(2),
    transaction_key: fc.constantFrom('0', '7', '7', '8'),
    claim_rank: fc.constantFrom(sdk, backend, receipt),
    received_at_ms: fc.nat(3),
  })
  const step = fc.record({
    partition: fc.nat(2),
    size: fc.integer({ min: 1, max: 4 }),
    repeats: fc.boolean(),
    sweeps: fc.nat(2),
  })
  fc.assert(
    fc.property(fc.array(arrival, { maxLength: 14 }), fc.array(step, { maxLength: 12 }), (arrivals, steps) => {
      const log = arrivals.map((one, n) => ({
        ...one,
        app_id: 'app_1',
        day: '2026-01-01',
        topic: 't',
        offset: n,
        revenue_counts: 1 as 0 | 1,
      }))
      const stored: typeof log = []
      const cancelled = new Set<number>()
      const sweep = () => {
        for (const { offset } of beatenClaims(stored.filter(isClaim))) cancelled.add(offset)
      }
      const isClaim = ({ transaction_key, revenue_counts }: (typeof log)[number]) =>
        revenue_counts === 1 && transaction_key !== '0'
      const done = [0, 0, 0]
      const all = [0, 1, 2].map((partition) => ({ partition, size: log.length, repeats: false, sweeps: 1 }))
      for (const { partition, size, repeats, sweeps } of [...steps, ...all]) {
        const batch = log.filter((one) => one.partition === partition).slice(done[partition], done[partition]! + size)
        done[partition]! += batch.length
        const range = { topic: 't', partition, from: batch[0]?.offset ?? 0 }
        const count = () => countMoney(batch, stored.filter(isClaim), range)
        const { rows, contested } = count()
        stored.push(...rows)
        if (repeats) expect(count()).toEqual({ rows, contested: expect.arrayContaining(contested) })
        for (let n = 0; n < sweeps; n += 1) sweep()
        // A batch settles what it knows to be contested before it ends.
        const settled = new Set(contested.map(({ transaction_key }) => transaction_key))
        for (const { offset } of beatenClaims(
          stored.filter((one) => isClaim(one) && settled.has(one.transaction_key)),
        )) {
          cancelled.add(offset)
        }
      }
      const counted = stored
        .filter(({ revenue_counts, offset }) => revenue_counts === 1 && !cancelled.has(offset))
        .map(({ offset }) => offset)
      expect(counted.toSorted((a, b) => a - b)).toEqual(bestClaims(log))
    }),
    { numRuns: 2000 },
  )
})

/** The rule by its words: of each transaction the highest rank, then the first received, then the first by position. */
function bestClaims(log: readonly (TransactionClaim & { offset: number })[]): number[] {
  const free = log.filter(({ transaction_key }) => transaction_key === '0').map(({ offset }) => offset)
  const best = ['7', '8'].flatMap((key) => {
    const claims = log.filter(({ transaction_key }) => transaction_key === key)
    const rank = Math.max(...claims.map(({ claim_rank }) => claim_rank))
    const ranked = claims.filter(({ claim_rank }) => claim_rank === rank)
    const first_ms = Math.min(...ranked.map(({ received_at_ms }) => received_at_ms))
    const first = ranked.filter(({ received_at_ms }) => received_at_ms === first_ms)
    return first.toSorted((a, b) => a.partition - b.partition || a.offset - b.offset).slice(0, 1)
  })
  return [...free, ...best.map(({ offset }) => offset)].toSorted((a, b) => a - b)
}
