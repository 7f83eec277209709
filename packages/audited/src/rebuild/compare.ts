import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { memorySettings, settingsSql } from '@tributary/clickhouse/settings-sql'
import { eventRowColumns, revenueRowColumns } from '@tributary/contracts/rows'
import {
  type DerivedName,
  derivedOf,
  rowsOfApps,
  type TableName,
  tableNames,
  tables,
} from '@tributary/contracts/tables'
import { clickColumns } from '@tributary/tables/attribution/clicks'
import { decodedColumns, rawColumns } from '@tributary/tables/postbacks/postback-rows'
import { untouched } from '@tributary/tables/repair/compare-days'

/** A table that was built again. */
export interface BuiltTable {
  name: string
  /** Rows that it has now, as reports count them. */
  rows: number
  /** Whether the live table has other rows. */
  differs: boolean
}

/** What differs between two rows of the same thing: where it was in a log, and when it was stored or judged. */
const volatile: ReadonlySet<string> = new Set([
  ...['topic', 'partition', 'offset', 'stored_at_ms', 'written_at_ms'],
  ...['judged_at_ms', 'judged_by', 'moved'],
])

/** Tables that no view fills, as they read when all merges are done. */
const own: Partial<Record<TableName, { columns: readonly string[]; rows: string }>> = {
  events_raw_v1: { columns: eventRowColumns, rows: 'events_raw_v1' },
  revenue_cancelled_v1: { columns: revenueRowColumns, rows: 'revenue_cancelled_v1 FINAL' },
  clicks_raw_v1: { columns: clickColumns, rows: 'clicks_raw_v1 FINAL' },
  postbacks_raw_v1: { columns: rawColumns, rows: 'postbacks_raw_v1 FINAL' },
  postbacks_decoded_v1: { columns: decodedColumns, rows: 'postbacks_decoded_v1 FINAL WHERE moved = 0' },
}

const isBuilt = (name: TableName): boolean =>
  own[name] !== undefined || ('derived' in tables[name] && isBuilt(derivedOf(name as DerivedName).from as TableName))

/** The tables that follow from the audit store. What a view fills comes behind what it reads, and the keys of events behind all else of them. */
export const builtTables: readonly TableName[] = tableNames.filter(isBuilt)

/** Compares each of these tables by the number and the sum of the hashes of its rows, without what may differ. */
export async function compareBuilt(live: Clickhouse, scratch: Clickhouse): Promise<BuiltTable[]> {
  const built: BuiltTable[] = []
  for (const name of builtTables) {
    const sql = `SELECT count() AS rows, toString(sum(cityHash64(toString(row)))) AS hash FROM (${rowsSql(name)})
      SETTINGS ${settings}`
    const [[here], [there]] = [await live.query<Content>(sql), await scratch.query<Content>(sql)]
    const differs = here?.rows !== there?.rows || here?.hash !== there?.hash
    built.push({ name, rows: there?.rows ?? 0, differs })
  }
  return built
}

interface Content {
  rows: number
  hash: string
}

const settings = settingsSql({ max_threads: 2, ...memorySettings(2_000_000_000) })

/** SQL of the rows of a table, each as one tuple `row`. */
function rowsSql(name: TableName): string {
  const one = own[name]
  if (one !== undefined)
    return `SELECT tuple(${one.columns.filter((column) => !volatile.has(column))}) AS row FROM ${one.rows}`
  const { groups, values = {}, sums = {}, known_by } = derivedOf(name as DerivedName)
  const columns = Object.keys(groups).filter((column) => !volatile.has(column))
  const held = [...Object.values(values), ...Object.values(sums)].map(([sql]) => sql)
  const isCompared = `${rowsOfApps(name as DerivedName)} AND ${untouched(name as DerivedName, Object.keys(groups))}`
  const from = `FROM ${name} WHERE ${isCompared}`
  const aggregates = held.length > 0 || known_by === 'set' ? `GROUP BY ${Object.keys(groups)}` : ''
  return `SELECT tuple(${[...columns, ...held]}) AS row ${from} ${aggregates}`
}
