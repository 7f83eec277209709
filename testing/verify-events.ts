import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Table } from '@tributary/contracts/table'
import {
  type DerivedName,
  derivedNames,
  derivedOf,
  hasMoney,
  rowsOfApps,
  stampTables,
  tables,
} from '@tributary/contracts/tables'

/** Events that went to the door together, all of one install. */
export interface SentEvents {
  app_id: string
  install_uuid: string
  event_ids: readonly string[]
  /** The dates of the events, Unix epoch ms, where they are known. */
  dated_ms?: readonly number[]
}

export interface Verdict {
  /** Distinct events that were answered 200. */
  acknowledged: number
  /** Rows of `events_raw_v1`. */
  in_events_raw: number
  /** Number that each roll-up counts; every table that a materialized view fills is one. */
  rollups: Record<string, number>
  /** Groups of each roll-up that differ, in either direction, from what brute force finds in its source rows. */
  differing: Record<string, number>
  /** Acknowledged and not in `events_raw_v1`, event by event. */
  lost: number
  /** Rows beyond the first of an event, and what roll-ups count beyond brute force. */
  doubled: number
  /** Sent together, never acknowledged, and there in part. */
  half: number
}

/** A roll-up and the same from the rows that it is made of: each statement gives groups `key` with a number `n`. */
interface RollupCheck {
  /** The table; with a dot and more, a second look at it that has no count of its own. */
  name: string
  rollup: string
  brute: string
}

const moneyOnce: RollupCheck = {
  // Per install, without cancelled money: another log of its partition may have counted it, or another install.
  name: 'revenue_raw_v1.once',
  rollup: `SELECT tuple(app_id, event_name, transaction_id, install_uuid) AS key,
             greatest(1, countIf(${hasMoney} AND (app_id, event_key, topic, partition, offset) NOT IN (
               SELECT app_id, event_key, topic, partition, offset FROM revenue_cancelled_v1))) AS n
           FROM events_raw_v1 WHERE transaction_id != '' AND revenue_micros IS NOT NULL GROUP BY key`,
  brute: `SELECT tuple(app_id, event_name, transaction_id, install_uuid) AS key, 1 AS n
          FROM events_raw_v1 WHERE transaction_id != '' AND revenue_micros IS NOT NULL GROUP BY key`,
}

/** A table that a view fills against the rows that the view reads, once for each of its sums. */
function checksOf(table: DerivedName): RollupCheck[] {
  const { from, where = '1', groups, values = {}, sums, known_by } = derivedOf(table)
  const columns = Object.keys(groups)
  const pairs = Object.values(values)
  const held = [...Object.keys(groups), ...pairs.map(([one]) => one)]
  const recounted = [...Object.values(groups), ...pairs.map(([, other]) => other)]
  const rows = pairs.length > 0 ? '1' : 'count()'
  return Object.entries(sums ?? { rows: [rows, rows] }).map(([sum, [n, recount]], at) => ({
    name: at === 0 ? table : `${table}.${sum}`,
    rollup: `SELECT tuple(${held}) AS key, toInt128(${n}) AS n FROM ${table}
             WHERE ${rowsOfApps(table)} AND ${untouched(table, columns)} GROUP BY ${columns}`,
    brute: `SELECT tuple(${recounted}) AS key, toInt128(${recount}) AS n FROM ${from}
            WHERE ${where} AND ${untouched(table, Object.values(groups))} GROUP BY ${Object.values(groups)}
            ${known_by === 'counted' ? `UNION ALL ${erasedSums(columns, sum)}` : ''}`,
  }))
}

/** The part of the sums that erased events still have: reports take it off. */
const erasedSums = (columns: readonly string[], sum: string): string =>
  `SELECT tuple(${columns}) AS key, toInt128(sum(${sum})) AS n FROM erased_events_v1 FINAL WHERE done = 1 GROUP BY ${columns}`

/** Groups of a table that no erasure took from: reports count the others in raw rows. */
function untouched(table: DerivedName, columns: readonly string[]): string {
  const { erased_by }: Table = tables[table]
  if (!('counted_raw' in erased_by)) return '1'
  return `(${columns.slice(0, 1)}, ${erased_by.on}) NOT IN (SELECT app_id, ${erased_by.on} FROM erased_events_v1)`
}

const checks = [...derivedNames.flatMap(checksOf), moneyOnce]

/** Compares the answers to clients with the content of the tables; consumers must have written all there is. */
export async function verifyEvents(
  clickhouse: Clickhouse,
  acknowledged: readonly SentEvents[],
  unanswered: readonly SentEvents[],
): Promise<Verdict> {
  await refuseUnknownRollups(clickhouse)
  const stored = await readStored(clickhouse)
  const [rows] = await clickhouse.query<{ stored: number; surplus: number }>(
    `SELECT count() AS stored, stored - uniqExact(app_id, install_uuid, event_id) AS surplus FROM events_raw_v1`,
  )
  const compared = await compareRollups(clickhouse)
  const missing = (sent: SentEvents) => {
    const there = stored.get(installOf(sent))
    return sent.event_ids.filter((event_id) => there?.has(event_id) !== true)
  }
  const parts = unanswered.map((sent) => ({ missing: missing(sent).length, sent: sent.event_ids.length }))
  return {
    acknowledged: distinctEvents(acknowledged),
    in_events_raw: rows?.stored ?? 0,
    rollups: Object.fromEntries(compared.filter(({ name }) => !name.includes('.')).map(({ name, all }) => [name, all])),
    differing: Object.fromEntries(compared.map(({ name, differing }) => [name, differing])),
    lost: distinctEvents(acknowledged.map((sent) => ({ ...sent, event_ids: missing(sent) }))),
    doubled: compared
      .filter(({ name }) => name !== 'events_per_day_v1.revenue_micros') // which is no number of things
      .reduce((sum, { surplus }) => sum + surplus, rows?.surplus ?? 0),
    half: parts.filter(({ missing, sent }) => missing !== 0 && missing !== sent).length,
  }
}

/** True when nothing is lost, doubled or half there and every roll-up equals brute force. */
export const isExact = ({ lost, doubled, half, differing }: Verdict): boolean =>
  lost === 0 && doubled === 0 && half === 0 && Object.values(differing).every((groups) => groups === 0)

export const installOf = ({ app_id, install_uuid }: Pick<SentEvents, 'app_id' | 'install_uuid'>): string =>
  `${app_id}/${install_uuid}`

/** How many events these are; one that was sent several times counts once. */
function distinctEvents(sent: readonly SentEvents[]): number {
  const byInstall = Map.groupBy(sent, installOf)
  return [...byInstall.values()].reduce(
    (sum, some) => sum + new Set(some.flatMap(({ event_ids }) => event_ids)).size,
    0,
  )
}

async function refuseUnknownRollups(clickhouse: Clickhouse): Promise<void> {
  const filled = await clickhouse.query<{ target: string }>(
    `SELECT extract(create_table_query, ' TO (?:\\w+\\.)?(\\w+)') AS target FROM system.tables
     WHERE database = currentDatabase() AND engine = 'MaterializedView'`,
  )
  const unknown = filled.filter(
    ({ target }) => !stampTables.includes(target) && !checks.some(({ name }) => name === target),
  )
  if (unknown.length > 0) throw new Error(`contracts/src/tables/tables.ts does not declare ${JSON.stringify(unknown)}`)
}

/** Each answer then holds a few megabytes at most. */
const slices = 32

/** Ids of the stored events by install. */
async function readStored(clickhouse: Clickhouse): Promise<Map<string, Set<string>>> {
  const stored = new Map<string, Set<string>>()
  for (let slice = 0; slice < slices; slice += 1) {
    const rows = await clickhouse.query<SentEvents>(
      `SELECT app_id, install_uuid, groupUniqArray(event_id) AS event_ids FROM events_raw_v1
       WHERE cityHash64(install_uuid) % ${slices} = ${slice} GROUP BY app_id, install_uuid`,
    )
    for (const row of rows) stored.set(installOf(row), new Set(row.event_ids))
  }
  return stored
}

interface Compared {
  name: string
  all: number
  differing: number
  surplus: number
}

async function compareRollups(clickhouse: Clickhouse): Promise<Compared[]> {
  const compared: Compared[] = []
  for (const { name, rollup, brute } of checks) {
    const [figures] = await clickhouse.query<Omit<Compared, 'name'>>(
      `SELECT toFloat64(sum(r)) AS all, countIf(r != b) AS differing, toFloat64(sumIf(r - b, r > b)) AS surplus
       FROM (SELECT key, sum(x) AS r, sum(y) AS b FROM (
         SELECT key, toInt128(n) AS x, toInt128(0) AS y FROM (${rollup})
         UNION ALL SELECT key, toInt128(0), toInt128(n) FROM (${brute})
       ) GROUP BY key)
       SETTINGS max_bytes_before_external_group_by = 200000000`,
    )
    compared.push({ name, all: 0, differing: 0, surplus: 0, ...figures })
  }
  return compared
}
