import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { memorySettings, settingsSql } from '@tributary/clickhouse/settings-sql'
import { day_ms, limits } from '@tributary/contracts/limits'
import type { Table } from '@tributary/contracts/table'
import { type DerivedName, derivedFromEvents, derivedOf, tables } from '@tributary/contracts/tables'
import { installKeyDay } from '@tributary/domain/event-key'

type Statements = Pick<Clickhouse, 'query'>

/** UTC days (`YYYY-MM-DD`) of events of an app. */
export interface AppDays {
  app_id: string
  days: readonly string[]
}

/** A table that differs from the rows that it is made of, on one day. Numbers are sums over the groups that differ. */
export interface DayDifference {
  table: DerivedName
  /** The table that it is made of. */
  from: string
  /** The sum that differs; `rows` where rows are counted. */
  sum: string
  day: string
  counted: number
  expected: number
}

/** Settings of a statement that compares: one thread, since everything else comes first. */
export const comparingSettings = settingsSql({ max_threads: 1, ...memorySettings(limits.reconcile_memory_bytes_max) })

/** A table and the same made of its source by brute force: each gives rows `at` (a day), `key`, `n`. */
interface Comparison {
  table: DerivedName
  from: string
  sum: string
  held: string
  recounted: string
}

/**
 * The tables that events fill, of which a day can be compared. Sums are compared group by group; rows with keys or positions are counted.
 * `identities_v1` and `money_days_v1` have no days, and `events_received_per_day_v1` has other ones (`compareReceived`).
 */
function comparisonsOf(app: string, days: string): Comparison[] {
  return derivedFromEvents.flatMap((table) => {
    const { from, where = '1', groups, known_by, sums, values = {}, day } = derivedOf(table)
    const at = 'day' in groups ? (day ?? 'day') : 'key_day' in groups ? 'key_day' : null
    if (at === null) return []
    const ofApp = (on: string) => `app_id = ${app} AND ${on} IN (${days})`
    const source = `${where} AND ${ofApp('day')}${at === 'key_day' ? ' AND key_day = day' : ''}`
    if (sums === undefined && known_by !== 'set')
      return [
        {
          ...{ table, from, sum: 'rows' },
          held: `SELECT ${at} AS at, tuple(0) AS key, count() AS n FROM ${table} WHERE ${ofApp(at)} GROUP BY at`,
          recounted: `SELECT day AS at, tuple(0) AS key, count() AS n FROM ${from} WHERE ${source} GROUP BY at`,
        },
      ]
    const columns = Object.keys(groups)
    const expressions = Object.values(groups)
    const pairs = Object.values(values)
    return Object.entries(sums ?? { rows: ['1', '1'] }).map(([sum, [n, recount]]) => ({
      ...{ table, from, sum },
      held: `SELECT ${at} AS at, tuple(${[...columns, ...pairs.map(([one]) => one)]}) AS key, ${n} AS n FROM ${table}
        WHERE ${ofApp(at)} AND ${untouched(table, columns)} GROUP BY ${['at', ...columns]}`,
      recounted: `SELECT day AS at, tuple(${[...expressions, ...pairs.map(([, other]) => other)]}) AS key, ${recount} AS n FROM ${from}
        WHERE ${source} AND ${untouched(table, expressions)} GROUP BY ${['at', ...expressions]}
        ${known_by === 'counted' ? `UNION ALL ${erasedSums(columns, sum)} AND ${ofApp('day')} GROUP BY ${['at', ...columns]}` : ''}`,
    }))
  })
}

/** The part of the sums that erased events still have: reports take it off. */
const erasedSums = (columns: readonly string[], sum: string): string =>
  `SELECT day AS at, tuple(${columns}) AS key, sum(${sum}) AS n FROM erased_events_v1 FINAL WHERE done = 1`

/** Groups of a table that no erasure took from: reports count the others in raw rows. */
export function untouched(table: DerivedName, columns: readonly string[]): string {
  const { erased_by }: Table = tables[table]
  if (!('counted_raw' in erased_by)) return '1'
  return `(${columns.slice(0, 1)}, ${erased_by.on}) NOT IN (SELECT app_id, ${erased_by.on} FROM erased_events_v1)`
}

/**
 * Tables of events that differ from their source on some days of an app: once where groups have too little, and once where groups have too
 * much. An insert under way may be in some tables and not in others, so a difference counts only while it stays. Expired days and
 * days of open erasures are the caller's to leave out. `only`: tables that are compared, all when absent.
 */
export async function compareDays(
  clickhouse: Statements,
  { app_id, days }: AppDays,
  only?: ReadonlySet<string>,
): Promise<DayDifference[]> {
  if (days.length === 0) return []
  const found: DayDifference[] = []
  const comparisons = comparisonsOf(textLiteral(app_id), textLiterals(days))
  for (const { table, from, sum, held, recounted } of comparisons.filter((one) => only?.has(one.table) ?? true)) {
    const rows = await clickhouse.query<Compared>(
      `SELECT toString(at) AS day, ${bothWays}
       FROM (SELECT at, key, sum(x) AS h, sum(y) AS r FROM (
         SELECT at, key, toInt128(n) AS x, toInt128(0) AS y FROM (${held})
         UNION ALL SELECT at, key, toInt128(0), toInt128(n) FROM (${recounted})
       ) GROUP BY at, key HAVING h != r)
       GROUP BY at ORDER BY at SETTINGS ${comparingSettings}`,
    )
    found.push(...rows.flatMap((row) => differencesOf({ table, from, sum }, row)))
  }
  return found
}

/** Of groups with the held number `h` and the right number `r`: one that has too much makes up for none that has too little. */
const bothWays = `toFloat64(sum(r)) AS expected, toFloat64(sumIf(r - h, r > h)) AS missing, toFloat64(sumIf(h - r, h > r)) AS surplus`

interface Compared {
  day: string
  expected: number
  missing: number
  surplus: number
}

function differencesOf(
  of: Pick<DayDifference, 'table' | 'from' | 'sum'>,
  { day, expected, missing, surplus }: Compared,
): DayDifference[] {
  return [
    ...(missing > 0 ? [{ ...of, day, expected, counted: expected - missing }] : []),
    ...(surplus > 0 ? [{ ...of, day, expected, counted: expected + surplus }] : []),
  ]
}

/**
 * Days of receipt on which `events_received_per_day_v1` differs from the raw rows of an app, of which none has expired. By day of receipt
 * the raw rows have no order: the index of `stored_at_ms` leaves out what was stored earlier. A row from before that column has 0.
 */
export async function compareReceived(clickhouse: Statements, { app_id, days }: AppDays): Promise<DayDifference[]> {
  const table = 'events_received_per_day_v1'
  const { from, groups } = derivedOf(table)
  const found: DayDifference[] = []
  for (const day of days) {
    const since_ms = Date.parse(day)
    const ofDay = `app_id = ${textLiteral(app_id)} AND received_day = ${textLiteral(day)}`
    const rows = await clickhouse.query<Compared>(
      `SELECT ${textLiteral(day)} AS day, ${bothWays} FROM (SELECT sum(x) AS h, sum(y) AS r FROM (
         SELECT toInt64(sum(events)) AS x, toInt64(0) AS y FROM ${table} WHERE ${ofDay}
         UNION ALL SELECT 0, toInt64(count()) FROM ${from}
           WHERE app_id = ${textLiteral(app_id)} AND (stored_at_ms = 0 OR stored_at_ms >= ${since_ms - day_ms})
           AND ${groups.received_day} = ${textLiteral(day)}
         UNION ALL SELECT 0, toInt64(sum(events)) FROM erased_events_v1 FINAL WHERE ${ofDay} AND done = 1
       )) SETTINGS ${comparingSettings}`,
    )
    found.push(...rows.flatMap((row) => differencesOf({ table, from, sum: 'events' }, row)))
  }
  return found
}

/** What erasures do to a UTC day of events of an app. */
export interface DayErasures {
  /** Whether one is at work: rows are gone from some tables and not from others. */
  is_open: boolean
  /** Another one after each batch that has begun or ended. */
  mark: string
}

/** The days of an app that an erasure ever took events from. */
export async function findErasures(clickhouse: Statements, app_id: string): Promise<Map<string, DayErasures>> {
  const rows = await clickhouse.query<{ erased_day: string; open: number; mark: string }>(
    `SELECT toString(day) AS erased_day, countIf(done = 0) AS open, toString(sum(sipHash64(batch, done))) AS mark
     FROM erased_events_v1 FINAL WHERE app_id = ${textLiteral(app_id)} GROUP BY day`,
  )
  return new Map(rows.map(({ erased_day, open, mark }) => [erased_day, { is_open: open > 0, mark }]))
}

/** A key of an event and its position on the log. */
export interface RowlessKey {
  app_id: string
  key_day: string
  /** Unsigned 64-bit decimal. */
  event_key: string
  place: string
}

/**
 * Keys of some days of an app without a row of `events_raw_v1`, at most `keys_max`. Keys of installs have no day: all of the app are
 * compared, which is for an app whose tables differ.
 */
export async function findRowlessKeys(
  clickhouse: Statements,
  { app_id, days }: AppDays,
  keys_max: number,
): Promise<RowlessKey[]> {
  const app = textLiteral(app_id)
  const ofDays = `(key_day IN (${textLiterals([...days, installKeyDay])}))`
  const columns = 'key_day, event_key, topic, partition, offset'
  return clickhouse.query<RowlessKey>(
    `SELECT ${app} AS app_id, toString(k) AS key_day, toString(event_key) AS event_key,
       concat(topic, '/', toString(partition), '/', toString(offset)) AS place
     FROM (
       SELECT key_day AS k, event_key, topic, partition, offset, sum(side) AS sides FROM (
         SELECT ${columns}, 1 AS side FROM event_keys_v1 WHERE app_id = ${app} AND ${ofDays}
         UNION ALL SELECT ${columns}, -1 FROM events_raw_v1 WHERE app_id = ${app} AND ${ofDays}
       ) GROUP BY k, event_key, topic, partition, offset HAVING sides > 0)
     ORDER BY k, event_key LIMIT ${keys_max} SETTINGS ${comparingSettings}`,
  )
}

/** An event with several rows. */
export interface DoubledEvent {
  /** When the first of them was received, Unix epoch ms. */
  at_ms: number
  rows: number
  event_id: string
  /** Positions on the log; some of them. */
  places: string[]
}

/**
 * Events of some days of an app that have several rows, at most `events_max`, whenever these were received. Keys are in order, so it
 * costs no memory to find the doubled ones.
 */
export async function findDoubled(
  clickhouse: Statements,
  { app_id, days }: AppDays,
  events_max: number,
): Promise<DoubledEvent[]> {
  const app = textLiteral(app_id)
  const ofDays = `key_day IN (${textLiterals([...days, installKeyDay])})`
  const doubled = await clickhouse.query<{ key_day: string; event_key: string }>(
    `SELECT toString(key_day) AS key_day, toString(event_key) AS event_key FROM (
       SELECT app_id, key_day, event_key FROM event_keys_v1 WHERE app_id = ${app} AND ${ofDays}
       GROUP BY app_id, key_day, event_key HAVING count() > 1 LIMIT ${events_max})
     SETTINGS ${comparingSettings}, optimize_aggregation_in_order = 1`,
  )
  if (doubled.length === 0) return []
  // The key of an install has no day.
  const isInstall = doubled.some(({ key_day }) => key_day === installKeyDay)
  return clickhouse.query<DoubledEvent>(
    `SELECT min(received_at_ms) AS at_ms, count() AS rows, any(event_id) AS event_id,
       arraySort(groupArray(3)(concat(topic, '/', toString(partition), '/', toString(offset)))) AS places
     FROM events_raw_v1 WHERE app_id = ${app} AND ${ofDays} ${isInstall ? '' : `AND day IN (${textLiterals(days)})`}
       AND event_key IN (${textLiterals(doubled.map(({ event_key }) => event_key))})
     GROUP BY key_day, event_key HAVING rows > 1 ORDER BY at_ms LIMIT ${events_max} SETTINGS ${comparingSettings}`,
  )
}
