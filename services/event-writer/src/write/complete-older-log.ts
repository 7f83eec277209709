import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { type DerivedName, derivedOf } from '@tributary/contracts/tables'
import type { Batch } from '@tributary/service-kit/consumer/define-consumer'
import { keysToLookUp, type RowKey } from '@tributary/tables/events/drop-duplicates'
import { findEventKeys } from '@tributary/tables/events/event-keys'
import { readRawExpired } from '@tributary/tables/events/raw-expired'
import type { Logger } from 'pino'
import { block_rows_max } from './cut-blocks.ts'
import { completeRows, countedTables } from './written-rows.ts'

type NewLog = Pick<Batch<unknown>, 'topic' | 'source' | 'partition' | 'token' | 'attempt' | 'fence'>

/** The rows that an older log of a partition has in `events_raw_v1`, by year. */
interface OlderLog {
  source: string
  years: Map<number, number>
}

/** A row of the end of an older log. */
interface TailRow extends RowKey {
  day: string
  record: { offset: number }
  from: 0
  to: 0
}

/**
 * Completes in a partition what the log before left half-done, before the first batch of a new log. The open batch of
 * that log is not known any more, and events without keys would not be found as duplicates. Still older logs were
 * completed when that log was begun. Only the last block of a log can be half-done. So missing rows are at the end of
 * the log, and the counters say how many of each year are missing, whatever has failed
 * (docs/decisions/writing.md#batches-of-an-older-log-are-completed). No insert of an older log may be running any more.
 */
export async function completeOlderLog(clickhouse: Clickhouse, at: NewLog, logger?: Logger): Promise<void> {
  const { partition, token, attempt, fence } = at
  const older = await findOlderLog(clickhouse, at)
  if (older === null) return
  const { source } = older
  logger?.warn(
    { partition, source: at.source, older: source },
    'a new log is begun beside tables of older ones: what these held unwritten is in the audit store alone, see `tributary replay --from-audit --dry-run`',
  )
  const rows = await readTail(clickhouse, source, partition)
  const lacking = new Map<string, number>()
  for (const table of countedTables)
    lacking.set(table, await countLacking(clickhouse, table, { older, rows, partition }, logger))
  const known = await findEventKeys(clickhouse, keysToLookUp(rows))
  await completeRows(rows, {
    ...{ clickhouse, attempt, fence },
    range: { source, partition, from: rows[0]!.record.offset, to: rows.at(-1)!.record.offset },
    token: `${token}/older/${source}`,
    keys: known.filter((key) => key.topic === source && key.partition === partition),
    countHeld: async (table) => rows.length - (lacking.get(table) ?? 0),
  })
}

/** The newest of the older logs of a partition. */
async function findOlderLog(clickhouse: Clickhouse, { topic, source, partition }: NewLog): Promise<OlderLog | null> {
  const found = await clickhouse.query<{ source: string; year: number; rows: number }>(
    `SELECT toString(topic) AS source, toYear(day) AS year, count() AS rows FROM events_raw_v1
     WHERE partition = {partition:UInt32} AND startsWith(topic, {prefix:String}) AND topic != {source:String}
     GROUP BY topic, year ORDER BY source DESC`,
    { partition, prefix: `${topic}@`, source },
  )
  const newest = found.filter((one) => one.source === found[0]!.source)
  return newest.length === 0 ? null : { source: newest[0]!.source, years: byYear(newest) }
}

/** The number of the last rows of a log that a table has not counted. */
async function countLacking(
  clickhouse: Clickhouse,
  table: DerivedName,
  { older: { source, years }, rows, partition }: { older: OlderLog; rows: readonly TailRow[]; partition: number },
  logger?: Logger,
): Promise<number> {
  const counted = await countByYear(clickhouse, table, `/${source}/${partition}`)
  const erased = await countErased(clickhouse, source, partition)
  const uncounted = [...years]
    .map(([year, stored]) => [year, stored + (erased.get(year) ?? 0) - (counted.get(year) ?? 0)] as const)
    .filter(([, missing]) => missing !== 0)
  const missing = new Map(uncounted.filter(([, some]) => some > 0))
  const sum = [...missing.values()].reduce((one, other) => one + other, 0)
  // Retention deletes rows that stay counted (docs/decisions/erasure.md#expired-days-are-marked-before-they-go).
  const isWhole = uncounted.length === 0 || (sum === 0 && (await readRawExpired(clickhouse)).size > 0)
  if (isWhole) return 0
  const ofTail = countYears(sum === 0 ? [] : rows.slice(-sum))
  // Otherwise more than the last block is missing: parts of the table were lost.
  if (sum > 0 && sum <= rows.length && [...missing].every(([year, some]) => ofTail.get(year) === some)) return sum
  logger?.error(
    { table, source, partition, missing: uncounted.map(([, some]) => some) },
    'a table lacks rows of older blocks: run `tributary rebuild`',
  )
  return 0
}

/** Erased rows of a log, by year: tables have counted them, and no longer hold them. */
async function countErased(clickhouse: Clickhouse, source: string, partition: number): Promise<Map<number, number>> {
  const found = await clickhouse.query<{ year: number; rows: number }>(
    `SELECT toYear(day) AS year, sum(events) AS rows FROM erased_events_v1 FINAL
     WHERE topic = {source:String} AND partition = {partition:UInt32} AND done = 1 GROUP BY year`,
    { source, partition },
  )
  return byYear(found)
}

async function countByYear(clickhouse: Clickhouse, table: DerivedName, counter: string): Promise<Map<number, number>> {
  const { day = 'day' } = derivedOf(table)
  const found = await clickhouse.query<{ year: number; rows: number }>(
    `SELECT toYear(${day}) AS year, sum(events) AS rows FROM ${table} WHERE app_id = {counter:String} GROUP BY year`,
    { counter },
  )
  return byYear(found)
}

const byYear = (found: readonly { year: number; rows: number }[]) =>
  new Map(found.map(({ year, rows }) => [year, rows]))

function countYears(rows: readonly TailRow[]): Map<number, number> {
  const years = Map.groupBy(rows, ({ day }) => Number(day.slice(0, 4)))
  return new Map([...years].map(([year, of]) => [year, of.length]))
}

/** The last rows of a log, as many as a block may have, in whole records. */
async function readTail(clickhouse: Clickhouse, source: string, partition: number): Promise<TailRow[]> {
  const found = await clickhouse.query<RowKey & { day: string; offset: number }>(
    `SELECT app_id, toString(t.day) AS day, toString(t.key_day) AS key_day, toString(t.event_key) AS event_key, offset
     FROM events_raw_v1 AS t
     WHERE topic = {source:String} AND partition = {partition:UInt32}
     ORDER BY offset DESC LIMIT ${block_rows_max} WITH TIES`,
    { source, partition },
  )
  const records = new Map<number, { offset: number }>()
  return found.toReversed().map(({ offset, ...row }) => {
    const record = records.get(offset) ?? { offset }
    records.set(offset, record)
    return { ...row, record, from: 0, to: 0 }
  })
}
