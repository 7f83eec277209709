import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { keySet, textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { erasedRowKey } from '@tributary/contracts/tables'
import { isBelow, type Tombstones } from '@tributary/domain/erasure/tombstones'
import { installKeyDay } from '@tributary/domain/event-key'
import { utcDay } from '@tributary/domain/utc-day'
import type { KnownKey } from '@tributary/tables/events/drop-duplicates'
import { eventErasedFrom } from '@tributary/tables/events/erased-sql'
import { readRawExpired } from '@tributary/tables/events/raw-expired'
import type { EventLine } from '../write/event-line.ts'
import { installOf } from './drop-erased.ts'

type Query = Pick<Clickhouse, 'query'>
type Placed = Pick<KnownKey, 'app_id' | 'event_key' | 'topic' | 'partition' | 'offset'>

/** A known key that a new life may have, and the row that looks it up. */
interface Suspect {
  key: KnownKey
  row: EventLine
  mark_ms: number
}

/** Keys of one statement. */
const keys_max = 10_000

/**
 * The known keys without those that an erased life of these installs wrote, deleted or not: a new life is no duplicate
 * of the erased one (docs/decisions/erasure.md#an-erased-life-is-not-found). A key does not say when its event was
 * received, but the row of the event does. If retention deleted the row, the position decides: the log up to the end
 * that the tombstone holds belongs to the erased life, and a key after it stays.
 */
export async function forgetErasedKeys(
  clickhouse: Query,
  rows: readonly EventLine[],
  known: readonly KnownKey[],
  marks: ReadonlyMap<string, number>,
  tombstones: Pick<Tombstones, 'logEndOf'>,
): Promise<readonly KnownKey[]> {
  if (marks.size === 0) return known
  const reborn = new Map(rows.filter((row) => marks.has(installOf(row))).map((row) => [keyName(row), row]))
  const suspects = known.flatMap((key): Suspect[] => {
    const row = reborn.get(keyName(key))
    return row === undefined ? [] : [{ key, row, mark_ms: marks.get(installOf(row))! }]
  })
  if (suspects.length === 0) return known
  const expired = await readRawExpired(clickhouse)
  const erased = new Set<KnownKey>()
  for (let at = 0; at < suspects.length; at += keys_max)
    for (const key of await findErased(clickhouse, suspects.slice(at, at + keys_max), expired, tombstones))
      erased.add(key)
  return known.filter((key) => !erased.has(key))
}

async function findErased(
  clickhouse: Query,
  suspects: readonly Suspect[],
  expired: ReadonlyMap<string, string>,
  tombstones: Pick<Tombstones, 'logEndOf'>,
): Promise<KnownKey[]> {
  const mayHaveExpired = ({ key, row, mark_ms }: Suspect) => {
    const before = expired.get(key.app_id) ?? ''
    // An event of an earlier day than the mark is erased, whether its row is there or not.
    const isBehindMark = key.key_day === installKeyDay || key.key_day >= utcDay(mark_ms)
    if (before <= utcDay(mark_ms) || key.key_day >= before || !isBehindMark) return false
    const log_end = tombstones.logEndOf(key.app_id, row.install_uuid)
    return log_end === null || !isBelow(key, log_end)
  }
  const unclear = suspects.filter(mayHaveExpired)
  const events = await findEvents(clickhouse, suspects, unclear.length > 0)
  const isErased = ({ key, mark_ms }: Suspect) => {
    const erased_from_ms = events.get(placedName(key))
    return erased_from_ms === undefined ? null : erased_from_ms <= mark_ms
  }
  const withoutRow = unclear.filter((one) => isErased(one) === null)
  const kept = new Set(await findExpired(clickhouse, withoutRow))
  return suspects.filter((one) => isErased(one) !== false && !kept.has(one)).map(({ key }) => key)
}

/** The times from which on the events of these keys are erased, by `placedName`, for events whose rows are there. */
async function findEvents(clickhouse: Query, suspects: readonly Suspect[], of_all_days: boolean) {
  const first_ms = Math.min(...suspects.map(({ mark_ms }) => mark_ms))
  // An event that no mark covers is dated after the mark. Days that have expired hold few rows.
  const onDays = of_all_days ? '' : `AND t.day >= ${textLiteral(utcDay(first_ms))}`
  const installs = textLiterals(suspects.map(({ row }) => row.install_uuid))
  const rows = await clickhouse.query<Placed & { erased_from_ms: number }>(
    `SELECT app_id, toString(event_key) AS event_key, topic, partition, offset, ${eventErasedFrom} AS erased_from_ms
     FROM events_raw_v1 AS t
     WHERE ${ofKeys(suspects)} AND install_uuid IN (${installs}) ${onDays}`,
  )
  return new Map(rows.map((row) => [placedName(row), row.erased_from_ms]))
}

/**
 * Finds the keys whose missing row retention deleted, and no erasure. An erasure names its events before it deletes
 * them, and stops naming them once their keys are gone too (docs/decisions/erasure.md#open-erasures-name-their-events).
 * The names are therefore read first, and the keys once more after them.
 */
async function findExpired(clickhouse: Query, suspects: readonly Suspect[]): Promise<Suspect[]> {
  if (suspects.length === 0) return []
  const apps = textLiterals(suspects.map(({ key }) => key.app_id))
  const named = await clickhouse.query<{ row_key: string }>(
    `SELECT DISTINCT toString(arrayJoin(row_keys)) AS row_key FROM erased_events_v1 WHERE app_id IN (${apps})`,
  )
  const days = textLiterals(suspects.map(({ key }) => key.key_day))
  const left = await clickhouse.query<Placed & { row_key: string }>(
    `SELECT app_id, toString(t.event_key) AS event_key, topic, partition, offset, toString(${erasedRowKey('t.event_key')}) AS row_key
     FROM event_keys_v1 AS t WHERE ${ofKeys(suspects)} AND t.key_day IN (${days})`,
  )
  const erased = new Set(named.map(({ row_key }) => row_key))
  const kept = new Set(left.filter(({ row_key }) => !erased.has(row_key)).map(placedName))
  return suspects.filter(({ key }) => kept.has(placedName(key)))
}

const keyName = ({ app_id, event_key }: Pick<KnownKey, 'app_id' | 'event_key'>): string => `${app_id}/${event_key}`

const placedName = (key: Placed): string => `${keyName(key)}/${key.topic}/${key.partition}/${key.offset}`

function ofKeys(suspects: readonly Suspect[]): string {
  const apps = textLiterals(suspects.map(({ key }) => key.app_id))
  return `app_id IN (${apps}) AND t.event_key IN ${keySet(suspects.map(({ key }) => key.event_key))}`
}
