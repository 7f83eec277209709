import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import { mutate } from '@tributary/clickhouse/mutate'
import { readStampViews, readViewSources, type ViewSource } from '@tributary/clickhouse/schema/view-sources'
import {
  derivedFromEvents,
  derivedOf,
  erasedRowKey,
  ofApps,
  settledTables,
  sweptFrom,
} from '@tributary/contracts/tables'
import { isKeptSql, type RawExpired, readRawExpired } from '../events/raw-expired.ts'
import { cancelAgainSql } from '../receipts/cancel-again.ts'

export interface RefillOptions {
  clickhouse: Clickhouse
  tables: Iterable<string>
  logger: { info(fields: object, message: string): void }
}

/** Begin of the names of the statements that fill tables again (`isInserting`). */
export const refill_token = 'refill/'

/** Rows of the source that one statement reads, unless one day has more. Bounds what a statement holds in memory. */
const slice_rows_max = 1_000_000

/**
 * Sums that still count what was erased, which reports take off: the quota counts it for ever.
 */
const erasedSums: Readonly<Record<string, { groups: readonly string[]; sums: readonly string[] }>> = {
  events_per_day_v1: { groups: ['app_id', 'day', 'event_name', 'currency'], sums: ['events', 'revenue_micros'] },
  events_received_per_day_v1: { groups: ['app_id', 'received_day'], sums: ['events'] },
}

/**
 * Events of a batch of the eraser that goes on (docs/decisions/erasure.md#open-erasures-name-their-events). They may be there or not, and
 * their sums are put in apart: a table that is filled without them is right whether the batch has deleted all of them, some or none.
 */
export const beingErased = `${erasedRowKey()} IN (
  SELECT arrayJoin(row_keys) FROM erased_events_v1 FINAL WHERE done = 0)`

/** SQL that puts the sums of erased events into a table again; null for a table without such sums. */
function erasedSumsSql(table: string, condition: string): string | null {
  const summed = erasedSums[table]
  if (summed === undefined) return null
  const sums = summed.sums.map((column) => `sum(${column})`).join(', ')
  const groups = summed.groups.join(', ')
  // Counters name a log and a year in place of an app and a day, and nothing else.
  const counter = [erasedCounters, ...summed.groups.slice(2).map(() => `''`)].join(', ')
  return `INSERT INTO ${table} (${groups}, ${summed.sums.join(', ')})
    SELECT ${groups}, ${sums} FROM erased_events_v1 FINAL WHERE ${condition} GROUP BY ${groups}
    UNION ALL SELECT ${counter}, ${sums} ${ofErasedCounters} SETTINGS insert_deduplicate = 0`
}

/**
 * Counters of a log have them too: a new log would take a smaller one for events that were not counted
 * (docs/decisions/writing.md#batches-of-an-older-log-are-completed).
 */
const erasedCounters = `concat('/', topic, '/', toString(partition)), toStartOfYear(day)`
const ofErasedCounters = 'FROM erased_events_v1 FINAL GROUP BY topic, partition, toStartOfYear(day)'

/** No token: the tables were emptied, and what they had before is no duplicate. */
const settings =
  'insert_deduplicate = 0, max_threads = 1, max_insert_threads = 1, max_memory_usage = 600000000, ' +
  'max_bytes_before_external_group_by = 200000000, min_insert_block_size_rows = 200000, ' +
  'min_insert_block_size_bytes = 67108864, max_partitions_per_insert_block = 0, parallel_view_processing = 0, ' +
  'materialized_views_ignore_errors = 0'

/**
 * Fills tables again from what their views read. Nobody else may write meanwhile. After a kill the same call begins anew.
 * Rows of days whose raw events have expired stay as they are, since nothing could fill them
 * (docs/decisions/erasure.md#expired-days-are-marked-before-they-go). Gives back every table that was filled, also those that a view fills
 * from one of them.
 */
export async function refillTables({ clickhouse, tables, logger }: RefillOptions): Promise<string[]> {
  const sources = await readViewSources(clickhouse)
  const wanted = new Set(tables)
  for (let size = 0; size < wanted.size; ) {
    size = wanted.size
    for (const { source, target } of sources.values()) if (wanted.has(source)) wanted.add(target)
  }
  const views = [...sources.values()].filter(({ target }) => wanted.has(target))
  const emptied = views.map(({ target }) => target)
  // The sweep cancels anew, by the claims as they are now: what one claim cancelled before may be the best one now.
  for (const [table, source] of Object.entries(sweptFrom)) if (wanted.has(source)) emptied.push(table)
  await emptySettled(clickhouse)
  const expired = await readRawExpired(clickhouse)
  const refilledOf = await rowsToRefill(clickhouse, expired)
  for (const table of emptied) await empty(clickhouse, table, refilledOf(table))
  const isErasing = await hasOpenErasure(clickhouse)
  for (const view of views) {
    // The insert into its source fills it.
    if (!wanted.has(view.source))
      await refill(clickhouse, view, logger, { refilled: refilledOf(view.target), isErasing })
    const erased = erasedSumsSql(view.target, refilledOf(view.target) ?? '1')
    if (erased !== null) await clickhouse.command(erased)
  }
  if (emptied.includes('revenue_cancelled_v1'))
    for (const sql of cancelAgainSql) await clickhouse.command(`${sql} SETTINGS ${settings}`)
  await emptySettled(clickhouse)
  return views.map(({ target }) => target)
}

async function hasOpenErasure(clickhouse: Clickhouse): Promise<boolean> {
  const found = await clickhouse.query(
    'SELECT 1 FROM erased_events_v1 FINAL WHERE done = 0 AND notEmpty(row_keys) LIMIT 1',
  )
  return found.length > 0
}

/**
 * Forgets every settled figure. To be done before and after rows go away that figures were worked out from, since no stamp counts
 * that: before it a crash would leave old figures, and meanwhile a settler may make some.
 */
export async function emptySettled(clickhouse: Pick<Clickhouse, 'command'>): Promise<void> {
  for (const table of settledTables) await clickhouse.command(`TRUNCATE TABLE ${table}`)
}

/**
 * Empties the stamps, and gives each day with data one. They may be smaller than before, so every settled figure has to be
 * forgotten already (docs/decisions/reports.md#settled-figures-carry-a-version).
 */
export async function stampAgain(clickhouse: Clickhouse): Promise<void> {
  const views = await readStampViews(clickhouse)
  for (const table of new Set(views.map(({ target }) => target))) await clickhouse.command(`TRUNCATE TABLE ${table}`)
  for (const { source, target, columns, selectFrom } of views)
    await clickhouse.command(`INSERT INTO ${target} (${columns.join(', ')}) ${selectFrom(source)} SETTINGS ${settings}`)
}

/**
 * SQL condition for the rows of a table that are emptied and filled again, by table; null where that is all of them. Counters of
 * a log always are. A table without days is a set: nothing of it is emptied, and a row that is filled twice changes nothing.
 */
export async function rowsToRefill(
  clickhouse: Clickhouse,
  expired: RawExpired,
): Promise<(table: string) => string | null> {
  if (expired.size === 0) return () => null
  const columns = await clickhouse.query<{ table: string; name: string }>(
    `SELECT table, name FROM system.columns WHERE database = currentDatabase() AND name IN ('day', 'key_day', 'received_day')`,
  )
  const dayOf = new Map(columns.map(({ table, name }) => [table, name]))
  for (const table of derivedFromEvents) {
    const { day } = derivedOf(table)
    if (day !== undefined) dayOf.set(table, day)
  }
  const ofEvents = new Set<string>(derivedFromEvents)
  for (const [table, source] of Object.entries(sweptFrom)) if (ofEvents.has(source)) ofEvents.add(table)
  return (table) => {
    if (!ofEvents.has(table)) return null
    const day = dayOf.get(table)
    return day === undefined ? '0' : `(NOT ${ofApps} OR ${isKeptSql(expired, day)})`
  }
}

async function empty(clickhouse: Clickhouse, table: string, refilled: string | null): Promise<void> {
  if (refilled === null) return clickhouse.command(`TRUNCATE TABLE ${table}`)
  if (refilled === '0') return
  await mutate(clickhouse, { table, action: 'DELETE', where: refilled, signal: new AbortController().signal })
}

async function refill(
  clickhouse: Clickhouse,
  view: ViewSource,
  logger: RefillOptions['logger'],
  { refilled, isErasing }: { refilled: string | null; isErasing: boolean },
): Promise<void> {
  const { source, target, columns } = view
  const remains = isErasing && source === 'events_raw_v1' ? `AND NOT ${beingErased}` : ''
  const slices = await cutDays(clickhouse, source)
  for (const [done, { from, to, rows }] of slices.entries()) {
    const part = `(SELECT * FROM ${source} WHERE day BETWEEN ${textLiteral(from)} AND ${textLiteral(to)} ${remains})`
    const rows_sql = view.selectFrom(part)
    const chosen = refilled === null || refilled === '0' ? rows_sql : `SELECT * FROM (${rows_sql}) WHERE ${refilled}`
    await clickhouse.command(`INSERT INTO ${target} (${columns.join(', ')}) ${chosen} SETTINGS ${settings}`, {
      name: `${refill_token}${target}`,
    })
    logger.info({ table: target, from, to, rows, slice: done + 1, slices: slices.length }, 'table is filled again')
  }
}

interface Slice {
  from: string
  to: string
  rows: number
}

/** Neighbouring days in as few slices as there may be. */
async function cutDays(clickhouse: Clickhouse, source: string): Promise<Slice[]> {
  const days = await clickhouse.query<{ on: string; rows: number }>(
    `SELECT toString(day) AS on, count() AS rows FROM ${source} GROUP BY day ORDER BY day`,
  )
  const slices: Slice[] = []
  for (const { on, rows } of days) {
    const last = slices.at(-1)
    if (last !== undefined && last.rows + rows <= slice_rows_max)
      Object.assign(last, { to: on, rows: last.rows + rows })
    else slices.push({ from: on, to: on, rows })
  }
  return slices
}
