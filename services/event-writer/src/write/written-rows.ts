import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { insertSettings } from '@tributary/clickhouse/insert-settings'
import { textLiteral } from '@tributary/clickhouse/literals'
import { readViewSources, type ViewSource } from '@tributary/clickhouse/schema/view-sources'
import { settingsSql } from '@tributary/clickhouse/settings-sql'
import { type DerivedName, derivedFromEvents, derivedOf } from '@tributary/contracts/tables'
import type { Batch } from '@tributary/service-kit/consumer/define-consumer'
import type { KnownKey, RowKey } from '@tributary/tables/events/drop-duplicates'
import { type Block, cutBlocks, type PlacedRow } from './cut-blocks.ts'

export type Range = Pick<Batch<unknown>, 'source' | 'partition' | 'from' | 'to'>
type Row = PlacedRow & RowKey

export const countedTables = derivedFromEvents.filter((table) => derivedOf(table).known_by === 'counted')

/** How many rows of a partition a table has counted since its log began. */
export async function countedRows(clickhouse: Clickhouse, table: string, at: Pick<Range, 'source' | 'partition'>) {
  const [row] = await clickhouse.query<{ events: number }>(
    `SELECT sum(events) AS events FROM ${table} WHERE app_id = {counter:String}`,
    { counter: `/${at.source}/${at.partition}` },
  )
  return row?.events ?? 0
}

/** Whether a table has counted rows of a log of the partition that was begun later; names of logs sort by time. */
export async function hasNewerLog(clickhouse: Clickhouse, table: string, at: Pick<Range, 'source' | 'partition'>) {
  const { source, partition } = at
  const newer = await clickhouse.query(
    `SELECT 1 FROM ${table}
     WHERE startsWith(app_id, {prefix:String}) AND endsWith(app_id, {suffix:String}) AND app_id > {own:String} LIMIT 1`,
    {
      prefix: `/${source.slice(0, source.lastIndexOf('@') + 1)}`,
      suffix: `/${partition}`,
      own: `/${source}/${partition}`,
    },
  )
  return newer.length > 0
}

export interface CompleteOptions {
  clickhouse: Clickhouse
  range: Range
  /** How many of the rows, from the first on, a table has counted. */
  countHeld(table: DerivedName): Promise<number>
  /** Keys of the rows that `event_keys_v1` holds. */
  keys: readonly KnownKey[]
  /** Name by which a running fill is found. */
  token: string
  attempt: number
  fence(): Promise<void>
}

/** Rows of one statement. It is small, because a table that failed for lack of memory must not fail again. */
const fill_rows_max = 10_000
/** Days of apps of one statement, which stays far below `statement_bytes_max`. */
const days_max = 10_000

/**
 * Puts rows that `events_raw_v1` holds into every other table that lacks them. The rows are in the order of their
 * inserts. No token is needed. Each insert is one part in each table, so the rows of a table are looked up, and only
 * the missing ones are inserted, by the SELECT of its view. No other insert of these rows may run meanwhile.
 */
export async function completeRows(rows: readonly Row[], options: CompleteOptions): Promise<void> {
  if (rows.length === 0) return
  const views = await readViewSources(options.clickhouse)
  for (const table of derivedFromEvents) {
    const lacking = await findLacking(table, rows, options)
    const view = views.get(table)
    if (view === undefined) throw new Error(`no view fills ${table}`)
    for (const some of cutBlocks(lacking, fill_rows_max)) await fill(view, some, options)
  }
}

async function findLacking(
  table: DerivedName,
  rows: readonly Row[],
  options: CompleteOptions,
): Promise<readonly Row[]> {
  const { clickhouse, range, keys } = options
  const how = derivedOf(table).known_by
  if (how === 'set') return rows
  // Blocks are inserted one after the other, so the counted rows are the first ones.
  if (how === 'counted') return rows.slice(await options.countHeld(table))
  if (how === 'keys') {
    const held = new Set(keys.map(keyOf))
    return rows.filter((row) => !held.has(keyOf({ ...row, offset: row.record.offset })))
  }
  const held = new Set(await selectHeld(clickhouse, table, rows, range))
  return rows.filter((row) => !held.has(row))
}

const keyOf = ({ app_id, key_day, event_key, offset }: Omit<KnownKey, 'topic' | 'partition'>): string =>
  `${app_id}/${key_day}/${event_key}/${offset}`

/** The rows of a batch that `events_raw_v1` holds. */
export const findLanded = <Found extends Row>(clickhouse: Clickhouse, rows: readonly Found[], range: Range) =>
  selectHeld(clickhouse, 'events_raw_v1', rows, range)

/** Rows of the batch that a table with positions holds: all rows of a record, or none of them. */
async function selectHeld<Found extends Row>(
  clickhouse: Clickhouse,
  table: string,
  rows: readonly Found[],
  range: Range,
): Promise<Found[]> {
  const held = new Set<number>()
  const days = daysOf(rows)
  for (let at = 0; at < days.length; at += days_max) {
    const found = await clickhouse.query<{ offset: number }>(
      `SELECT DISTINCT offset FROM ${table} AS t WHERE ${within(days.slice(at, at + days_max), range)}`,
    )
    for (const { offset } of found) held.add(offset)
  }
  return rows.filter(({ record }) => held.has(record.offset))
}

/** Rows into a table, by its view, as one block. */
async function fill(
  view: ViewSource,
  block: Block<Row>,
  { clickhouse, range, fence, token, attempt }: CompleteOptions,
) {
  const { rows, name } = block
  const offsets = [...new Set(rows.map(({ record }) => record.offset))]
  const relation = `(SELECT * FROM ${view.source} AS t WHERE ${within(daysOf(rows), range)}
    AND t.offset IN CAST('[${offsets}]', 'Array(UInt64)'))`
  await fence()
  await fillTable(clickhouse, view, relation, `${token}/fill/${view.target}/${name}`, attempt)
}

/**
 * Inserts what the view makes of a relation into its table, as one block. The token guards against a process that slept
 * and fills the same rows after the next owner did.
 */
async function fillTable(clickhouse: Clickhouse, view: ViewSource, relation: string, token: string, attempt: number) {
  const columns = view.columns.join(', ')
  const settings = settingsSql({ ...insertSettings, insert_deduplication_token: token })
  await clickhouse.command(
    `INSERT INTO ${view.target} (${columns}) SELECT ${columns} FROM (${view.selectFrom(relation)}) SETTINGS ${settings}`,
    { name: token, attempt },
  )
}

/** A day of an app, as a tuple of SQL. */
type DayTuple = string

/** The days of these rows, in an order that brings those of an app together. */
const daysOf = (rows: readonly Row[]): DayTuple[] =>
  [...new Set(rows.map(({ app_id, day }) => `(${textLiteral(app_id)},${textLiteral(day)})`))].toSorted()

/**
 * Bounds the read rows by days of apps, because the tables are ordered by these. The days are tuples: otherwise an
 * event of 2010 would make the engine read the other apps from 2010 on. The primary key serves a constant set of tuples
 * (docs/decisions/writing.md#late-keys-are-looked-up-by-tuples).
 */
function within(days: readonly DayTuple[], { source, partition, from, to }: Range): string {
  const set = textLiteral(`[${days.join(',')}]`)
  return `(t.app_id, t.day) IN CAST(${set}, 'Array(Tuple(String, Date))')
    AND t.topic = ${textLiteral(source)} AND t.partition = ${partition} AND t.offset BETWEEN ${from} AND ${to}`
}
