import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { copySettings } from '@tributary/clickhouse/insert-settings'
import { textLiteral } from '@tributary/clickhouse/literals'
import { settingsSql } from '@tributary/clickhouse/settings-sql'
import type { JudgedPurchase, ReceiptReason, ReceiptVerdict } from '@tributary/contracts/receipt/judged-receipt'
import type { Store } from '@tributary/contracts/receipt/receipt'
import { refundEvents } from '@tributary/contracts/rows'
import { nothing } from '@tributary/domain/receipt/judgement'
import { eventErasedFrom } from '../events/erased-sql.ts'
import { copyingOf } from '../money/cancel-beaten-claims.ts'
import { type EventPlace, inParts, ofPlaces, placeColumns, placeValues, valuesSql } from './event-places.ts'

/** An event, and what its store says of it. */
export interface JudgedEvent {
  place: EventPlace
  judged: JudgedPurchase
}

/** A row of `receipts_v1`, as far as claims follow from it. */
export interface VerdictRow extends EventPlace {
  event_name: string
  source: string
  received_at_ms: number
  dated_at_ms: number
  has_money: 0 | 1
  currency: string
  amount_micros: number
  /** `transaction_id` of the event, empty without one. */
  stated_id: string
  /** Empty when unknown, as all texts from the store. */
  store: Store | ''
  verdict: ReceiptVerdict
  reason: ReceiptReason | ''
  product_id: string
  transaction_id: string
  original_id: string
  price_currency: string
  price_micros: number
  taken_back_ms: number
  /** Digits. */
  version: string
}

/**
 * The transaction that an event claims, empty for none: what the store confirmed by the store's id, what nobody could verify by the
 * event's (docs/rules.md#receipts-and-money).
 */
export const claimedId = ({
  verdict,
  transaction_id,
  stated_id,
}: Pick<VerdictRow, 'verdict' | 'transaction_id' | 'stated_id'>): string =>
  verdict === 'valid' ? transaction_id : verdict === 'unverified' ? stated_id : ''

/** The same verdict once more. Money and notifications do not follow from what it lacks. */
export const sameVerdict = (row: VerdictRow): JudgedPurchase => ({
  ...{ ...nothing, verdict: row.verdict, store: row.store || null, reason: row.reason || null },
  ...{ product_id: row.product_id || null, transaction_id: row.transaction_id || null },
  original_id: row.original_id || null,
  price: row.price_currency === '' ? null : { amount_micros: row.price_micros, currency: row.price_currency },
  taken_back_ms: row.taken_back_ms || null,
})

/** The newest verdicts on these events; none for an event that has no row. */
export async function findVerdicts(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  places: readonly EventPlace[],
): Promise<VerdictRow[]> {
  const rows: VerdictRow[] = []
  for (const some of inParts(places)) {
    rows.push(
      ...(await clickhouse.query<VerdictRow>(
        `SELECT ${placeValues('t.')}, event_name, source, received_at_ms, dated_at_ms, has_money, currency, amount_micros, stated_id, store,
           verdict, reason, product_id, transaction_id, original_id, price_currency, price_micros, taken_back_ms,
           toString(t.version) AS version
         FROM receipts_v1 AS t FINAL WHERE ${ofPlaces(app_id, some, 't.')}`,
      )),
    )
  }
  return rows
}

const text = (value: string | null): string => textLiteral((value ?? '').toWellFormed())

/** The columns that a verdict adds to its event. */
const given = {
  store: { type: 'String', literal: ({ judged }: Valued) => text(judged.store) },
  verdict: { type: 'String', literal: ({ judged }: Valued) => text(judged.verdict) },
  reason: { type: 'String', literal: ({ judged }: Valued) => text(judged.reason) },
  product_id: { type: 'String', literal: ({ judged }: Valued) => text(judged.product_id) },
  transaction_id: { type: 'String', literal: ({ judged }: Valued) => text(judged.transaction_id) },
  original_id: { type: 'String', literal: ({ judged }: Valued) => text(judged.original_id) },
  price_currency: { type: 'String', literal: ({ judged }: Valued) => text(judged.price?.currency ?? '') },
  price_micros: { type: 'Int64', literal: ({ judged }: Valued) => `${Number(judged.price?.amount_micros ?? 0)}` },
  taken_back_ms: { type: 'Int64', literal: ({ judged }: Valued) => `${Number(judged.taken_back_ms ?? 0)}` },
} as const
type Valued = EventPlace & Pick<JudgedEvent, 'judged'>

const ofEvent = `event_name, event_id, ts_ms, received_at_ms, dated_at_ms, source, has_money, currency, amount_micros, stated_id, receipt_hash`
const isRefundSql = (name: string) => `${name} IN (${refundEvents.map(textLiteral).join(', ')})`

/** SQL of the hash of a claim on a transaction. `event_name` and `id` are SQL too. */
export const claimKeySql = (event_name: string, id: string): string =>
  `sipHash64(if(${isRefundSql(event_name)}, 'refund', 'charge'), ${id})`

/**
 * Adds verdicts to the events that `events_raw_v1` holds at this moment: the engine copies them, so a process that slept brings no erased
 * one back (docs/decisions/money.md#the-engine-copies-cancelled-money). A row replaces those with a lower version.
 */
export async function writeVerdicts(
  clickhouse: Pick<Clickhouse, 'query' | 'command'>,
  app_id: string,
  judged: readonly JudgedEvent[],
  { now_ms, version, stored_at_ms }: { now_ms: number; version: string; stored_at_ms: number },
): Promise<void> {
  const rows = judged.map((one): Valued => ({ ...one.place, judged: one.judged }))
  for (const some of inParts(rows)) {
    // A query waits for what other replicas have, an INSERT ... SELECT does not.
    await clickhouse.query(`SELECT count() AS events FROM events_raw_v1 AS t WHERE ${ofPlaces(app_id, some, 't.')}`)
    const stored = Object.keys(given)
    await clickhouse.command(
      `INSERT INTO receipts_v1 (app_id, ${placeColumns()}, ${ofEvent}, ${stored.join(', ')}, claim_key, judged_at_ms,
         stored_at_ms, version)
       SELECT e.*, ${stored.map((name) => `v.${name}`).join(', ')},
         multiIf(v.verdict = 'valid' AND notEmpty(v.transaction_id), ${claimKeySql('e.event_name', 'v.transaction_id')},
           v.verdict = 'unverified' AND notEmpty(e.stated_id), ${claimKeySql('e.event_name', 'e.stated_id')}, 0),
         ${Number(now_ms)}, ${Number(stored_at_ms)}, ${BigInt(version)}
       FROM (
         SELECT app_id, ${placeColumns('t.')}, t.event_name AS event_name, t.event_id AS event_id, t.ts_ms AS ts_ms, t.received_at_ms AS received_at_ms,
           toInt64(${eventErasedFrom}) AS dated_at_ms, t.source AS source, toUInt8(isNotNull(t.revenue_micros)) AS has_money,
           t.currency AS currency, toInt64(ifNull(t.revenue_micros, 0)) AS amount_micros, t.transaction_id AS stated_id,
           JSONExtractString(t.props, 'receipt') AS receipt_hash
         FROM events_raw_v1 AS t WHERE ${ofPlaces(app_id, some, 't.')}
       ) AS e
       INNER JOIN ${valuesSql(some, given)} AS v USING (day, event_key, topic, partition, offset)
       SETTINGS ${settingsSql(copySettings)}`,
      { name: `${copyingOf(app_id)}receipts` },
    )
  }
}
