import { randomUUID } from 'node:crypto'
import { textLiteral } from '@tributary/clickhouse/literals'
import { day_ms } from '@tributary/contracts/limits'
import { type ReceiptReason, type ReceiptVerdict, receiptReasons } from '@tributary/contracts/receipt/judged-receipt'
import type { Store } from '@tributary/contracts/receipt/receipt'
import type { EventRow } from '@tributary/contracts/rows'
import { type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import type { Rate, SentEvent } from '@tributary/testing/oracle/history'
import * as fc from 'fast-check'

export const first_ms = Date.UTC(2026, 2, 1)
/** Events lie on so many days. */
export const event_days = 5
export const read_at_ms = first_ms + 20 * day_ms

/** EUR has none before 3 March, and XXX never. */
export const rates: Rate[] = [
  { day: '2026-03-03', currency: 'EUR', usd_e5: 110_000, units_e5: 100_000 },
  { day: '2026-01-01', currency: 'GBP', usd_e5: 110_000, units_e5: 85_000 },
  { day: '2026-03-05', currency: 'EUR', usd_e5: 120_340, units_e5: 100_000 },
]

/** What the stores say of the receipt of an event. */
export interface TestReceipt {
  store: Store | ''
  verdict: ReceiptVerdict
  reason: ReceiptReason | null
  product_id?: string
  transaction_id?: string
}

/** What counts of the money of an event: as it states, nothing, or what its transaction chose. */
export type TestMoney = 'stated' | 'cancelled' | Chosen
interface Chosen {
  counts: 0 | 1
  micros: bigint
  currency: string
  reused: 0 | 1
}

export interface JudgedEvent {
  at_ms: number
  event_name: string
  install_uuid: string
  micros: bigint | null
  currency: string
  /** Null: the event has none. */
  receipt: TestReceipt | null
  /** Of an event with `micros`. */
  money: TestMoney
}

export const atOrNearMidnight = fc.oneof(
  fc.integer({ min: 0, max: event_days * day_ms - 1 }),
  fc.tuple(fc.nat(event_days - 1), fc.integer({ min: -1, max: 1 })).map(([day, ms]) => Math.max(0, day * day_ms + ms)),
)
const micros = fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n })
const currency = fc.constantFrom('USD', 'EUR', 'GBP', 'XXX')
const verdictsWithReasons = Object.entries(receiptReasons).flatMap(([verdict, reasons]) =>
  reasons.filter((reason) => reason !== 'reused').map((reason) => ({ verdict: verdict as ReceiptVerdict, reason })),
)
const receipt: fc.Arbitrary<TestReceipt> = fc
  .tuple(
    fc.constantFrom('apple' as const, 'google' as const, '' as const),
    fc.constantFrom(
      ...verdictsWithReasons,
      ...Array.from({ length: 8 }, () => ({ verdict: 'unverified', reason: 'store_away' }) as const),
      { verdict: 'valid' as const, reason: null },
    ),
  )
  .map(([store, judged]) => ({ store, ...judged }))
const money: fc.Arbitrary<TestMoney> = fc.oneof(
  fc.constantFrom('stated' as const, 'stated' as const, 'cancelled' as const),
  fc.record({
    counts: fc.constantFrom(0 as const, 1 as const, 1 as const),
    micros,
    currency,
    reused: fc.constant(0 as const),
  }),
)

/** Events of which some have receipts; the transactions of some valid ones count for another install. */
export const judgedEvent: fc.Arbitrary<JudgedEvent> = fc
  .record({
    at_ms: atOrNearMidnight,
    event_name: fc.constantFrom('purchase', 'subscribe', 'purchase_refunded', 'gift'),
    install_uuid: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    micros: fc.option(micros),
    currency,
    receipt: fc.option(receipt),
    money,
    is_reused: fc.boolean(),
  })
  .map(({ is_reused, ...event }) => {
    const isValid = event.receipt?.verdict === 'valid' && event.receipt.reason === null
    const reused = { counts: 0, micros: 0n, currency: 'USD', reused: 1 } as const
    return withRefunds(event.micros !== null && is_reused && isValid ? { ...event, money: reused } : event)
  })

/** Writers make the money of refunds negative. */
function withRefunds(event: JudgedEvent): JudgedEvent {
  if (event.event_name !== 'purchase_refunded') return event
  const negative = (amount: bigint) => (amount > 0n ? -amount : amount)
  const { micros, money } = event
  return {
    ...event,
    micros: micros === null ? null : negative(micros),
    money: typeof money === 'object' ? { ...money, micros: negative(money.micros) } : money,
  }
}

/** The money that counts; null: none. */
export function countedOf({ micros, currency, money }: JudgedEvent): { micros: bigint; currency: string } | null {
  if (micros === null || money === 'cancelled') return null
  if (money === 'stated') return { micros, currency }
  return money.counts === 1 ? { micros: money.micros, currency: money.currency } : null
}

/** The events as the oracle knows them: each with the money that counts, and with none that `only` leaves out. */
export const sentWithCounted = (events: readonly JudgedEvent[], only: (event: JudgedEvent) => boolean): SentEvent[] =>
  events.map((event, n): SentEvent => {
    const counted = only(event) ? countedOf(event) : null
    return {
      ...{
        app: 0,
        install_uuid: event.install_uuid,
        partition: 0,
        source: 's2s',
        received_at_ms: first_ms + event.at_ms,
      },
      ...{ event_id: `${n}`, event_name: event.event_name, event_ts_ms: first_ms + event.at_ms },
      ...{ revenue: counted && Number(counted.micros) / 1e6, currency: counted?.currency ?? null },
      transaction_id: null,
    }
  })

/** Writes the events, and what receipt-validator would write of them: an earlier decision first, then the one that holds. */
export async function writeJudged(clickhouse: TestClickhouse, app_id: string, events: readonly JudgedEvent[]) {
  if (events.length === 0) return
  const rows = events.map(({ at_ms, event_name, install_uuid, micros, currency }, offset) => ({
    ...testEventRow({ app_id, ts_ms: first_ms + at_ms, event_name, install_uuid, offset, source: 's2s' }),
    ...(micros !== null && { revenue_micros: `${micros}`, currency, revenue_counts: 1 as const }),
  }))
  await clickhouse.insertEvents(rows, randomUUID())
  const before = { verdict: 'unverified', reason: 'store_away', store: 'apple' } as const
  for (const [version, receiptOf] of [
    [1, ({ receipt }: JudgedEvent) => receipt && before],
    [2, ({ receipt }: JudgedEvent) => receipt],
  ] as const) {
    await insert(clickhouse, 'receipts_v1', receiptColumns, rows, (row, n) =>
      receiptValues(row, receiptOf(events[n]!), version),
    )
  }
  const before_chosen = { counts: 1, micros: 7_000_000n, currency: 'USD', reused: 0 } as const
  for (const [version, chosenOf] of [
    [1, (event: JudgedEvent) => findChosen(event) && before_chosen],
    [2, findChosen],
  ] as const) {
    await insert(clickhouse, 'revenue_chosen_v1', chosenColumns, rows, (row, n) =>
      chosenValues(row, chosenOf(events[n]!), version),
    )
  }
  await insert(clickhouse, 'revenue_cancelled_v1', cancelledColumns, rows, (row, n) =>
    row.revenue_micros !== null && events[n]!.money !== 'stated' ? cancelledValues(row) : null,
  )
}

const findChosen = ({ micros, money }: JudgedEvent): Chosen | null =>
  micros !== null && typeof money === 'object' ? money : null

type Values = readonly (string | number | null)[]

async function insert(
  clickhouse: TestClickhouse,
  table: string,
  columns: readonly string[],
  rows: readonly EventRow[],
  valuesOf: (row: EventRow, n: number) => Values | null,
) {
  const lines = rows.flatMap((row, n) => {
    const values = valuesOf(row, n)
    return values === null ? [] : [`(${values.map(literal).join(', ')})`]
  })
  if (lines.length > 0)
    await clickhouse.command(`INSERT INTO ${table} (${columns.join(', ')}) VALUES ${lines.join(', ')}`)
}

/** `sipHash64(...)` stands as it is. */
const literal = (value: string | number | null): string =>
  typeof value === 'number' || value === null || value.startsWith('sipHash64(') ? `${value}` : textLiteral(value)

const place = ['app_id', 'day', 'install_uuid', 'event_key', 'topic', 'partition', 'offset'] as const
const placeOf = (row: EventRow): Values => place.map((column) => row[column])
const shared = ['ts_ms', 'event_name', 'received_at_ms', 'dated_at_ms'] as const
const sharedOf = ({ ts_ms, event_name, received_at_ms }: EventRow): Values => [
  ...[ts_ms, event_name, received_at_ms, received_at_ms],
]

const receiptColumns = [
  ...[...place, ...shared, 'source', 'has_money', 'currency', 'amount_micros', 'stated_id', 'store', 'verdict'],
  ...['reason', 'product_id', 'transaction_id', 'judged_at_ms', 'version'],
]
const receiptValues = (row: EventRow, receipt: TestReceipt | null, version: number): Values | null =>
  receipt && [
    ...[...placeOf(row), ...sharedOf(row), row.source, row.revenue_micros === null ? 0 : 1, row.currency],
    ...[
      Number(row.revenue_micros ?? 0),
      '',
      receipt.store,
      receipt.verdict,
      receipt.reason ?? '',
      receipt.product_id ?? '',
      receipt.transaction_id ?? '',
    ],
    ...[row.ts_ms + version, version],
  ]

const chosenColumns = [
  ...[...place, ...shared, 'correction_ms', 'install_key', 'counts', 'currency', 'amount_micros', 'price_source'],
  ...['reused', 'version'],
]
const chosenValues = (row: EventRow, money: Chosen | null, version: number): Values | null =>
  money && [
    ...[
      ...placeOf(row),
      ...sharedOf(row),
      0,
      `sipHash64(${textLiteral(row.install_uuid)})`,
      money.counts,
      money.currency,
    ],
    ...[Number(money.micros), money.counts === 1 ? 'store' : '', money.reused, version],
  ]

const cancelledColumns = [
  ...[...place, 'ts_ms', 'event_name', 'currency', 'amount_micros', 'transaction_key', 'received_at_ms'],
]
const cancelledValues = (row: EventRow): Values => [
  ...[
    ...placeOf(row),
    row.ts_ms,
    row.event_name,
    row.currency,
    Number(row.revenue_micros),
    Number(row.transaction_key),
  ],
  row.received_at_ms,
]
