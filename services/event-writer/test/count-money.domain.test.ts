import type { LogRecord } from '@tributary/broker/broker'
import type { TransactionClaim } from '@tributary/clickhouse/transaction-keys'
import { eventRowColumns } from '@tributary/contracts/rows'
import { expect, test } from 'vitest'
import { laterClaims } from '../src/cancel-later-claims.ts'
import { countMoney, transactionsToAsk } from '../src/count-money.ts'
import { decodeLines, type EventLine, withoutMoney } from '../src/decode-lines.ts'

const range = { topic: 't', partition: 1, from: 10 }
const row = (transaction_key: string, n = 0, app_id = 'app_1') => ({ app_id, transaction_key, n })
const claim = (given: Partial<TransactionClaim> = {}): TransactionClaim => ({
  app_id: 'app_1',
  transaction_key: '7',
  day: '2026-01-01',
  received_at_ms: 5,
  topic: 't',
  partition: 1,
  offset: 3,
  ...given,
})
const count = (rows: ReturnType<typeof row>[], claims: TransactionClaim[] = []) => {
  const { rows: counted, contested } = countMoney(rows, claims, range, (event) => ({ ...event, n: -event.n }))
  return { counted: counted.map(({ n }) => n), contested: contested.map(({ transaction_key }) => transaction_key) }
}

test('the first of a transaction has its money, in each app; what has no transaction always does', () => {
  const rows = [row('7', 1), row('0', 2), row('7', 3), row('8', 4), row('0', 5), row('7', 6, 'app_2')]
  expect(count(rows)).toEqual({ counted: [1, 2, -3, 4, 5, 6], contested: [] })
  expect(transactionsToAsk(rows)).toHaveLength(4)
})

test('a claim of an earlier batch of the partition has the money', () => {
  expect(count([row('7', 1), row('7', 2)], [claim()])).toEqual({ counted: [-1, -2], contested: [] })
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
    const found = laterClaims([alone, ...order, other])
    expect(new Set(found)).toEqual(new Set(later))
  }
  expect(laterClaims(later.toReversed())).not.toContain(later[0])
})

test('a line without its money differs in the last column alone', () => {
  const envelope = {
    v: 1,
    company_id: 'c',
    app_id: 'a',
    platform: 'ios',
    source: 'sdk',
    install_uuid: 'i',
    received_at_ms: 1.7e12,
  }
  const strings = { ip: '', user_agent: '', sdk: '', sdk_platform: '', audit_key: '' }
  const events = [
    { event_id: '1', event_name: 'purchase', revenue: 1, transaction_id: 't' },
    { event_id: '2', event_name: 'x' },
  ]
  const value = Buffer.from(JSON.stringify({ ...envelope, ...strings, events }))
  const lines = decodeLines(value, { topic: 't', partition: 0, offset: 0 } as LogRecord, 't@1')
  const textOf = ({ bytes, from, to }: EventLine) => bytes.toString('utf8', from, to)
  const last = (line: EventLine) => JSON.parse(textOf(line))[eventRowColumns.indexOf('revenue_counts')]
  expect(lines.map(last)).toEqual([1, 0])
  const marked = lines.map(withoutMoney)
  expect(marked.map(last)).toEqual([0, 0])
  expect(textOf(marked[0]!)).toBe(textOf(lines[0]!).replace(/1\]\n$/, '0]\n'))
  expect(lines.map(last)).toEqual([1, 0])
})
