import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { limits } from '@tributary/contracts/limits'
import type { Table } from '@tributary/contracts/table'
import { tableNames, tables } from '@tributary/contracts/tables'

/** An install to export. */
export interface ExportedInstall {
  app_id: string
  install_uuid: string
}

/** A row of a table that belongs to the install. */
export interface ExportedRow {
  table: string
  row: Record<string, unknown>
}

/** How the rows of a table are found. */
interface Source {
  table: string
  where: string
}

/** The order of raw events begins with the day, so they are read a day after the other. */
const raw = 'events_raw_v1'

/**
 * All rows of ClickHouse that a table holds of an install: of every table that declares a column with its id or the hash of it,
 * and the clicks that it won. 64-bit hashes and offsets are texts. At most `export_page_rows` rows are in memory.
 */
export async function* exportInstall(
  clickhouse: Pick<Clickhouse, 'query'>,
  install: ExportedInstall,
): AsyncGenerator<ExportedRow> {
  const shapes = await readShapes(clickhouse)
  for (const source of sources) {
    const shape = shapes.get(source.table)
    if (shape === undefined) continue
    const days = source.table === raw ? await findDays(clickhouse, install) : [null]
    for (const day of days)
      for await (const row of readRows(clickhouse, shape, source, { ...install, ...(day !== null && { day }) }))
        yield { table: source.table, row }
  }
}

const ofApp = 'app_id = {app_id:String}'
const byUuid = `${ofApp} AND install_uuid = {install_uuid:String}`
const byKey = `${ofApp} AND install_key = sipHash64({install_uuid:String})`

const sources: readonly Source[] = [
  ...tableNames.flatMap((table): Source[] => {
    const { personal }: Table = tables[table]
    if (table === raw) return [{ table, where: `${byUuid} AND day = {day:Date}` }]
    if (personal.includes('install_uuid')) return [{ table, where: byUuid }]
    return personal.includes('install_key') ? [{ table, where: byKey }] : []
  }),
  {
    table: 'clicks_raw_v1',
    // A click that it has lost may be that of another person by now.
    where: `${ofApp} AND click_id IN (
      SELECT click_id FROM install_claims_v1 FINAL WHERE ${byUuid} GROUP BY click_id HAVING sum(sign) > 0)`,
  },
]

/** Days with events of the install, also of those that an earlier version wrote. */
async function findDays({ query }: Pick<Clickhouse, 'query'>, install: ExportedInstall): Promise<string[]> {
  const found = await query<{ on: string }>(
    `SELECT DISTINCT toString(day) AS on FROM (
       SELECT day FROM activity_by_day_v1 WHERE ${byKey} UNION ALL SELECT day FROM activity_per_day_v1 WHERE ${byUuid})
     ORDER BY on`,
    { ...install },
  )
  return found.map(({ on }) => on)
}

interface Shape {
  /** The table with `FINAL` where it may hold a row more than once. */
  from: string
  columns: string
}

async function readShapes({ query }: Pick<Clickhouse, 'query'>): Promise<Map<string, Shape>> {
  const found = await query<{ table: string; engine: string; names: string[]; types: string[] }>(
    `SELECT table, any(t.engine) AS engine, groupArray(c.name) AS names, groupArray(c.type) AS types
     FROM (SELECT * FROM system.columns WHERE database = currentDatabase() ORDER BY table, position) AS c
     JOIN (SELECT name, engine FROM system.tables WHERE database = currentDatabase()) AS t ON t.name = c.table
     GROUP BY table`,
  )
  return new Map(
    found.map(({ table, engine, names, types }) => {
      const columns = names.map((name, n) => columnSql(name, types[n]!))
      const isSet = /(Replacing|Aggregating|Summing)MergeTree/.test(engine)
      return [table, { from: isSet ? `${table} FINAL` : table, columns: columns.join(', ') }]
    }),
  )
}

function columnSql(name: string, type: string): string {
  if (type === 'UInt64') return `toString(\`${name}\`) AS \`${name}\``
  if (type === 'Array(UInt64)') return `arrayMap(one -> toString(one), \`${name}\`) AS \`${name}\``
  return `\`${name}\``
}

async function* readRows(
  { query }: Pick<Clickhouse, 'query'>,
  { from, columns }: Shape,
  { where }: Source,
  params: Record<string, string>,
): AsyncGenerator<Record<string, unknown>> {
  const limit = limits.export_page_rows
  for (let offset = 0; ; offset += limit) {
    const rows = await query<Record<string, unknown>>(
      `SELECT ${columns} FROM (SELECT * FROM ${from} WHERE ${where} ORDER BY ALL LIMIT ${limit} OFFSET ${offset})`,
      params,
    )
    for (const row of rows) yield readable(row)
    if (rows.length < limit) return
  }
}

/** Columns that hold a JSON object as text. */
const documents = new Set(['props', 'device', 'extra', 'fact', 'decision', 'click'])

const readable = (row: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, documents.has(name) && value !== '' ? parsed(value) : value]),
  )

function parsed(value: unknown): unknown {
  try {
    return JSON.parse(String(value))
  } catch {
    return value
  }
}
