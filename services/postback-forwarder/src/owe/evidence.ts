import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import type { Decision } from '@tributary/contracts/attribution/decision'
import { day_ms } from '@tributary/contracts/limits'
import { refundEvents } from '@tributary/contracts/rows'
import { isGone, type Tombstones } from '@tributary/domain/erasure/tombstones'
import type { CountedEvent, DecidedInstall } from '@tributary/domain/partner/owed'
import { utcDay } from '@tributary/domain/utc-day'
import { decidedAt } from '@tributary/tables/attribution/verdicts'
import { eventErasedFrom } from '@tributary/tables/events/erased-sql'

type Query = Pick<Clickhouse, 'query'>

/** Installs of a statement; each may read a granule of long texts. */
const installs_max = 500

/** The decisions on installs of an app, the oldest first, without those on an erased life. */
export async function findDecisions(
  clickhouse: Query,
  app_id: string,
  install_uuids: Iterable<string>,
  tombstones: Tombstones,
): Promise<Map<string, DecidedInstall[]>> {
  const found: Decision[] = []
  for (const uuids of inParts([...new Set(install_uuids)].toSorted())) {
    const rows = await clickhouse.query<{ decision: string }>(
      `SELECT decision FROM installs_v1
       WHERE app_id = ${textLiteral(app_id)} AND install_uuid IN (${textLiterals(uuids)}) AND sign = 1
       ORDER BY install_uuid, ${decidedAt.join(', ')}
       LIMIT 1 BY install_uuid, topic, partition, offset`,
    )
    found.push(...rows.map(({ decision }) => JSON.parse(decision) as Decision))
  }
  const living = found.filter((decision) => !isGone(tombstones, decision))
  return Map.groupBy(living, ({ install_uuid }) => install_uuid)
}

function* inParts(uuids: readonly string[]): Generator<readonly string[]> {
  for (let at = 0; at < uuids.length; at += installs_max) yield uuids.slice(at, at + installs_max)
}

/** Which events are looked up. */
export interface EventsWanted {
  app_id: string
  install_uuids: readonly string[]
  names: ReadonlySet<string>
  /** SQL condition for rows of `events_raw_v1 AS t`. */
  where: string
}

/** An event as its table has it. */
export type StoredEvent = CountedEvent & { install_uuid: string; partition: number; offset: number }

interface EventRow {
  install_uuid: string
  event_key: string
  event_name: string
  ts_ms: number
  corrected_ts_ms: number
  received_at_ms: number
  dated_at_ms: number
  revenue_micros: string | null
  currency: string
  partition: number
  offset: number
}

/** Events that count, without erased ones. An identity migration is never forwarded. */
export async function findEvents(
  clickhouse: Query,
  { app_id, install_uuids, names, where }: EventsWanted,
  tombstones: Tombstones,
): Promise<StoredEvent[]> {
  if (names.size === 0 || install_uuids.length === 0) return []
  const rows: EventRow[] = []
  for (const uuids of inParts(install_uuids.toSorted())) {
    rows.push(
      ...(await clickhouse.query<EventRow>(
        `SELECT t.install_uuid AS install_uuid, concat(toString(t.key_day), '/', toString(t.event_key)) AS event_key,
           t.event_name AS event_name, toInt64(t.ts_ms) AS ts_ms, toInt64(t.ts_ms + t.correction_ms) AS corrected_ts_ms,
           t.received_at_ms AS received_at_ms, toInt64(${eventErasedFrom}) AS dated_at_ms,
           if(isNull(t.revenue_micros), NULL, toString(t.revenue_micros)) AS revenue_micros, t.currency AS currency,
           t.partition AS partition, t.offset AS offset
         FROM events_raw_v1 AS t
         WHERE t.app_id = ${textLiteral(app_id)} AND t.install_uuid IN (${textLiterals(uuids)})
           AND t.event_name IN (${textLiterals(names)}) AND ${where}
           AND NOT JSONExtractBool(t.props, 'identity_migration')`,
      )),
    )
  }
  const living = rows.filter((row) => row.dated_at_ms > (tombstones.markOf(app_id, row.install_uuid) ?? -1))
  return living.map(({ ts_ms, revenue_micros, currency, ...row }) => ({
    ...{ ...row, event_ts_ms: ts_ms, revenue: amountOf(revenue_micros, row.event_name) },
    currency: revenue_micros === null ? null : currency,
  }))
}

const refunds: ReadonlySet<string> = new Set(refundEvents)

/** The table holds micros, those of a refund negative. */
function amountOf(revenue_micros: string | null, event_name: string): number | null {
  if (revenue_micros === null) return null
  const amount = Number(revenue_micros) / 1e6
  return refunds.has(event_name) ? Math.abs(amount) : amount
}

/** SQL condition for the events of installs that came in lately. None of them is before its install, whose clock may be a day off. */
export const receivedSince = (since_ms: number, installed_at_ms: number): string =>
  `t.day >= ${textLiteral(utcDay(installed_at_ms - 2 * day_ms))} AND t.received_at_ms >= ${Math.trunc(since_ms)}`
