import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { type DerivedName, derivedOf } from '@tributary/contracts/tables'
import type { Batch } from '@tributary/service-kit/consumer/define-consumer'
import { findEventKeys } from '@tributary/tables/events/event-keys'
import { readRawExpired } from '@tributary/tables/events/raw-expired'
import type { Logger } from 'pino'
import { block_rows_max } from './cut-blocks.ts'
import { keysToLookUp, type RowKey } from './drop-duplicates.ts'
import { completeRows, countedTables } from './written-rows.ts'

type NewLog = Pick<Batch<unknown>, 'topic' | 'source' | 'partition' | 'token' | 'attempt' | 'fence'>

/** The rows of a year that an older log of a partition has in `events_raw_v1`. */
interface OlderRows {
  source: string
  year: number
  rows: number
  /** Behind it are as many rows as a block may have: what is half-done is among them. */
  from: number
  to: number
}

/** How many rows of a year a table has not counted. */
type Missing = Map<OlderRows, number>

/**
 * Completes what the log before left half-done in a partition, before the first batch of a new one: its open batch is not
 * known any more, and events without keys would not be found as duplicates. The logs before that one were completed when
 * it was begun. Only the last block of a log can be half-done. Blocks of a year are in the order of the log, and counters
 * count by year, so that the tables alone tell what each lacks, whatever has failed (docs/adr/0103). No insert of an older
 * log may be at work any more.
 */
export async function completeOlderLog(clickhouse: Clickhouse, at: NewLog, logger?: Logger): Promise<void> {
  const found = await findOlderRows(clickhouse, at)
  const older = found.filter(({ source }) => source === found[0]?.source)
  if (older.length === 0) return
  logger?.warn(
    { partition: at.partition, source: at.source, older: older[0]?.source },
    'a new log is begun beside tables of older ones: what these held unwritten is in the audit store alone, see `tributary replay --from-audit --dry-run`',
  )
  const missing = new Map<string, Missing>()
  for (const table of countedTables) missing.set(table, await findMissing(clickhouse, table, older, at, logger))
  for (const one of older) await completeTail(clickhouse, one, missing, at, logger)
}

/** The years of each older log, the newest log first and of it the year of the last row. */
function findOlderRows(clickhouse: Clickhouse, { topic, source, partition }: NewLog): Promise<OlderRows[]> {
  return clickhouse.query<OlderRows>(
    `SELECT toString(topic) AS source, toYear(day) AS year, count() AS rows, max(offset) AS to,
       toUInt64(-arrayElement(groupArraySorted(${block_rows_max})(-toInt64(offset)), -1)) AS from
     FROM events_raw_v1
     WHERE partition = {partition:UInt32} AND startsWith(topic, {prefix:String}) AND topic != {source:String}
     GROUP BY topic, year ORDER BY source DESC, to DESC, year DESC`,
    { partition, prefix: `${topic}@`, source },
  )
}

/** The rows of a log that a table has not counted. They are of one of these years, since a block holds rows of one year. */
async function findMissing(
  clickhouse: Clickhouse,
  table: DerivedName,
  years: readonly OlderRows[],
  { partition }: NewLog,
  logger?: Logger,
): Promise<Missing> {
  const { source } = years[0]!
  const counted = await countByYear(clickhouse, table, `/${source}/${partition}`)
  const erased = await countErased(clickhouse, source, partition)
  const uncounted = ({ year, rows }: OlderRows) => rows + (erased.get(year) ?? 0) - (counted.get(year) ?? 0)
  const differing = new Map(years.map((one) => [one, uncounted(one)] as const).filter(([, rows]) => rows !== 0))
  const lacking = [...differing].filter(([, rows]) => rows > 0)
  // Retention deletes rows that stay counted (docs/adr/0351).
  const isWhole = differing.size === 0 || (lacking.length === 0 && (await readRawExpired(clickhouse)).size > 0)
  if (isWhole || lacking.length === 1) return new Map(lacking)
  logDiffering(table, { source, partition, missing: [...differing.values()] }, logger)
  return new Map()
}

/** Rows of a log that were erased, by year: tables have counted them, and they are there no more. */
async function countErased(clickhouse: Clickhouse, source: string, partition: number): Promise<Map<number, number>> {
  const found = await clickhouse.query<{ year: number; rows: number }>(
    `SELECT toYear(day) AS year, sum(events) AS rows FROM erased_events_v1 FINAL
     WHERE topic = {source:String} AND partition = {partition:UInt32} AND done = 1 GROUP BY year`,
    { source, partition },
  )
  return new Map(found.map(({ year, rows }) => [year, rows]))
}

async function countByYear(clickhouse: Clickhouse, table: DerivedName, counter: string): Promise<Map<number, number>> {
  const { day = 'day' } = derivedOf(table)
  const found = await clickhouse.query<{ year: number; rows: number }>(
    `SELECT toYear(${day}) AS year, sum(events) AS rows FROM ${table} WHERE app_id = {counter:String} GROUP BY year`,
    { counter },
  )
  return new Map(found.map(({ year, rows }) => [year, rows]))
}

/** Each table has the last rows of a year when this resolves. */
async function completeTail(
  clickhouse: Clickhouse,
  tail: OlderRows,
  missing: ReadonlyMap<string, Missing>,
  { partition, token, attempt, fence }: NewLog,
  logger?: Logger,
): Promise<void> {
  const { source, year } = tail
  const rows = await readTail(clickhouse, tail, partition)
  const known = await findEventKeys(clickhouse, keysToLookUp(rows))
  await completeRows(rows, {
    ...{ clickhouse, attempt, fence },
    range: { ...tail, partition },
    token: `${token}/older/${source}/${year}`,
    keys: known.filter((key) => key.topic === source && key.partition === partition),
    async countHeld(table) {
      const lacking = missing.get(table)?.get(tail) ?? 0
      if (lacking <= rows.length) return rows.length - lacking
      logDiffering(table, { source, partition, missing: lacking }, logger)
      return rows.length
    },
  })
}

/** A block is never larger than this: parts of the table were lost. */
function logDiffering(table: string, fields: object, logger?: Logger): void {
  logger?.error({ table, ...fields }, 'a table lacks rows of older blocks: run `tributary rebuild`')
}

async function readTail(clickhouse: Clickhouse, { source, year, from, to }: OlderRows, partition: number) {
  const found = await clickhouse.query<RowKey & { day: string; offset: number }>(
    `SELECT app_id, toString(t.day) AS day, toString(t.key_day) AS key_day, toString(t.event_key) AS event_key, offset
     FROM events_raw_v1 AS t
     WHERE topic = {source:String} AND partition = {partition:UInt32} AND toYear(t.day) = {year:UInt16}
       AND offset BETWEEN {from:UInt64} AND {to:UInt64}
     ORDER BY offset`,
    { source, partition, year, from, to },
  )
  const records = new Map<number, { offset: number }>()
  return found.map(({ offset, ...row }) => {
    const record = records.get(offset) ?? { offset }
    records.set(offset, record)
    return { ...row, record, from: 0, to: 0 }
  })
}
