import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import type { FoundEvent } from '@tributary/contracts/admin/rows/find'
import { limits } from '@tributary/contracts/limits'
import { bestClaims, type TransactionClaim, transactionOf } from '@tributary/domain/money/claims'
import { findTransactionClaims } from '../money/transaction-keys.ts'
import { inSlices } from './in-slices.ts'

type Queries = Pick<Clickhouse, 'query'>
type LogPosition = Pick<TransactionClaim, 'topic' | 'partition' | 'offset'>

interface EventRow extends Omit<FoundEvent, 'kind' | 'position' | 'money'>, LogPosition {
  day: string
  is_event: number
  currency: string
  transaction_id: string
  /** Texts: 64-bit numbers. */
  transaction_key: string
  revenue_micros: string | null
  revenue_counts: number
  is_cancelled: number
  /** What a receipt chose: 1 counts, 0 does not; -1 without one. */
  chosen: -1 | 0 | 1
  chosen_micros: string
  chosen_currency: string
}

/** Events, and the first of the days that were searched; null: all days with events. */
export interface FoundEvents {
  found: FoundEvent[]
  events_since: string | null
}

/**
 * The events of an app with this event id or transaction id. No table is in the order of these ids alone, so raw events are read from the
 * newest day back, some days at a time, until one has such events or `isOver` says that it has taken long enough.
 */
export async function findEvents(
  clickhouse: Queries,
  { app_id, id }: { app_id: string; id: string },
  isOver: () => boolean,
): Promise<FoundEvents> {
  const days = await clickhouse.query<{ day: string; events: number }>(daysSql, { app_id })
  for (const slice of inSlices(days, ({ events }) => events, limits.find_slice_events)) {
    const [last_day, first_day] = [slice[0]!.day, slice.at(-1)!.day]
    const rows = await clickhouse.query<EventRow>(eventsSql, { app_id, id, first_day, last_day })
    const isLast = first_day === days.at(-1)?.day
    const events_since = isLast ? null : first_day
    if (rows.length > 0) return { found: await withMoney(clickhouse, app_id, rows), events_since }
    if (isOver()) return { found: [], events_since }
  }
  return { found: [], events_since: null }
}

const daysSql = `
SELECT toString(t.day) AS day, toUInt64(sum(t.events)) AS events FROM events_per_day_v1 AS t WHERE app_id = {app_id:String}
GROUP BY t.day ORDER BY t.day DESC`

const eventsSql = `
SELECT e.install_uuid AS install_uuid, e.event_id AS event_id, e.event_name AS event_name, e.ts_ms AS event_ts_ms,
  e.received_at_ms AS received_at_ms, e.source AS source, e.audit_key AS audit_key, e.topic AS topic, e.partition AS partition,
  e.offset AS offset, toString(e.day) AS day, e.event_id = {id:String} AS is_event, e.currency AS currency,
  e.transaction_id AS transaction_id, toString(e.transaction_key) AS transaction_key, toString(e.revenue_micros) AS revenue_micros,
  e.revenue_counts AS revenue_counts,
  (e.day, e.install_uuid, e.transaction_key, e.topic, e.partition, e.offset) IN (
    SELECT day, install_uuid, transaction_key, topic, partition, offset FROM revenue_cancelled_v1
    WHERE app_id = {app_id:String} AND day >= {first_day:Date} AND day <= {last_day:Date}) AS is_cancelled,
  if(m.is_chosen = 1, toInt8(m.counts), -1) AS chosen, toString(m.amount_micros) AS chosen_micros, m.currency AS chosen_currency
FROM events_raw_v1 AS e
LEFT JOIN (
  SELECT day, install_uuid, event_key, topic, partition, offset, counts, amount_micros, currency, 1 AS is_chosen FROM revenue_chosen_v1 FINAL
  WHERE app_id = {app_id:String} AND day >= {first_day:Date} AND day <= {last_day:Date}) AS m
  USING (day, install_uuid, event_key, topic, partition, offset)
WHERE e.app_id = {app_id:String} AND e.day >= {first_day:Date} AND e.day <= {last_day:Date}
  AND (e.event_id = {id:String} OR e.transaction_id = {id:String})
ORDER BY e.ts_ms DESC, e.install_uuid LIMIT ${limits.find_rows_max}`

async function withMoney(clickhouse: Queries, app_id: string, rows: readonly EventRow[]): Promise<FoundEvent[]> {
  const beaten = rows.filter(
    (row) => row.revenue_micros !== null && row.chosen === -1 && !counts(row) && row.transaction_key !== '0',
  )
  const winners = await findWinners(clickhouse, app_id, beaten)
  return rows.map((row) => {
    const { topic, partition, offset, is_event, currency, transaction_id, transaction_key, revenue_micros, ...event } =
      row
    const { day: _day, revenue_counts: _counts, is_cancelled: _cancelled, chosen, chosen_micros, ...rest } = event
    const { chosen_currency, ...shown } = rest
    const money = {
      ...{
        amount: Number(chosen === 1 ? chosen_micros : revenue_micros) / 1e6,
        currency: chosen === 1 ? chosen_currency : currency,
        transaction_id: transaction_id || null,
        counts: counts(row),
      },
      beaten_by: (beaten.includes(row) && winners.get(transactionOf({ app_id, transaction_key }))) || null,
    }
    return {
      ...{ kind: is_event ? 'event' : 'transaction', ...shown, position: { topic, partition, offset } },
      money: revenue_micros === null ? null : money,
    }
  })
}

const counts = ({ revenue_counts, is_cancelled, chosen }: EventRow): boolean =>
  chosen === 1 || (chosen === -1 && revenue_counts === 1 && is_cancelled === 0)

type Winner = NonNullable<NonNullable<FoundEvent['money']>['beaten_by']>

/** The events that have the money of these transactions, by `transactionOf`. */
async function findWinners(
  clickhouse: Queries,
  app_id: string,
  rows: readonly EventRow[],
): Promise<Map<string, Winner>> {
  if (rows.length === 0) return new Map()
  const lookups = rows.map(({ transaction_key }) => ({ app_id, transaction_key }))
  const best = bestClaims(await findTransactionClaims(clickhouse, lookups))
  const names = [...best.values()].map(
    ({ transaction_key, topic, partition, offset }) =>
      `(${BigInt(transaction_key)}, ${textLiteral(topic)}, ${Number(partition)}, ${Number(offset)})`,
  )
  if (names.length === 0) return new Map()
  const events = await clickhouse.query<Winner & { transaction_key: string }>(
    `SELECT install_uuid, event_id, source, received_at_ms, toString(e.transaction_key) AS transaction_key FROM events_raw_v1 AS e
     WHERE e.app_id = ${textLiteral(app_id)} AND e.day IN (${textLiterals([...best.values()].map(({ day }) => day))})
       AND (e.transaction_key, e.topic, e.partition, e.offset) IN (${names.join(', ')})`,
  )
  const shown = new Map(
    events.map(({ transaction_key, ...event }) => [transactionOf({ app_id, transaction_key }), event]),
  )
  return new Map(
    [...best].map(([transaction, { received_at_ms }]) => {
      const erased = { install_uuid: null, event_id: null, source: null, received_at_ms }
      return [transaction, shown.get(transaction) ?? erased]
    }),
  )
}
