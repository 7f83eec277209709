import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { type DerivedName, derivedNames, derivedOf, rowsOfApps } from '@tributary/contracts/tables'
import { byAppSql, isKeptSql, type RawExpired, readRawExpired } from '../events/raw-expired.ts'

/** Where a group of consumers goes on in a partition of the log. */
export interface GoesOnAt {
  partition: number
  offset: number
}

interface Counts {
  table: DerivedName
  /** Rows of `events_raw_v1` that it stands for. */
  counted: number
  expected: number
}

/**
 * Numbers that must be equal when every row of its source has reached a table; a set has no such number. Days whose raw events
 * have expired are left out: the table alone has them.
 */
const comparisonsOf = (expired: RawExpired) =>
  derivedNames
    .filter((table) => derivedOf(table).known_by !== 'set')
    .map((table) => {
      const { from, where = '1', known_by } = derivedOf(table)
      const kept = keptSql(table, expired)
      const [number, uncounted] = known_by === 'counted' ? ['sum(events)', `(${erased(1, kept)})`] : ['count()', '0']
      return {
        table,
        counted: `SELECT ${number} FROM ${table} WHERE ${rowsOfApps(table)} AND ${kept}`,
        // Sums still count erased events, which their source lacks.
        expected: `SELECT countIf(${where}) + ${uncounted} FROM ${from} WHERE ${kept}`,
      }
    })

/** SQL condition for rows of a table, and for rows of its source, whose days have not expired. */
function keptSql(table: DerivedName, expired: RawExpired): string {
  const { day = 'day', groups } = derivedOf(table)
  if (day === 'day') return isKeptSql(expired, groups.key_day === undefined ? day : 'key_day')
  // Events of expired days are among those of a day of this table: an app is compared whole or not at all.
  return byAppSql(new Map([...expired.keys()].map((app_id) => [app_id, '0'])), '1')
}

/**
 * Tables whose number of events differs from `events_raw_v1`. A batch that a crash broke off may be in some tables and not
 * in others, and is completed when it comes again: a difference as large as what the log still brings is none.
 */
export async function findDifferences(clickhouse: Clickhouse, goesOn: readonly GoesOnAt[]): Promise<Counts[]> {
  const compared: Counts[] = []
  for (const { table, counted, expected } of comparisonsOf(await readRawExpired(clickhouse))) {
    const [row] = await clickhouse.query<Omit<Counts, 'table'>>(
      `SELECT toUInt64((${counted})) AS counted, toUInt64((${expected})) AS expected`,
    )
    compared.push({ table, ...row! })
  }
  const different = compared.filter(({ counted, expected }) => counted !== expected)
  if (different.length === 0) return []
  const open = await countOpenRows(clickhouse, goesOn)
  // The eraser goes on with a batch that was broken off: until then its rows may be in some tables and not in others.
  const [row] = await clickhouse.query<{ erasing: number }>(`SELECT (${erased(0)}) AS erasing`)
  const { erasing } = row!
  return different.filter(
    ({ counted, expected }) => counted > expected + erasing || counted < expected - open - erasing,
  )
}

/** SQL of the number of events that erasures took away, or are about to. */
function erased(done: 0 | 1, condition = '1'): string {
  return `SELECT sum(events) FROM erased_events_v1 FINAL WHERE done = ${done} AND ${condition}`
}

/** Rows of `events_raw_v1` from the position on at which each partition goes on, of its newest log alone. */
async function countOpenRows(clickhouse: Clickhouse, goesOn: readonly GoesOnAt[]): Promise<number> {
  if (goesOn.length === 0) return 0
  const open = goesOn.map(({ partition, offset }) => `(partition = ${partition} AND offset >= ${offset})`).join(' OR ')
  const [row] = await clickhouse.query<{ open: number }>(`
    SELECT sum(open) AS open FROM (
      SELECT partition, countIf(${open}) AS open, max(received_at_ms) AS newest_ms
      FROM events_raw_v1 GROUP BY topic, partition ORDER BY newest_ms DESC LIMIT 1 BY partition)`)
  return row?.open ?? 0
}
