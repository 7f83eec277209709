import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { eventDay } from '@tributary/contracts/report-tables'
import type { Table } from '@tributary/contracts/table'
import { tableNames, tables } from '@tributary/contracts/tables'
import { readPages, readShapes } from './read-pages.ts'

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
  /** Columns that have one value in all of them. */
  fixed: readonly string[]
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
      for await (const row of readPages(clickhouse, shape, source, { ...install, ...(day !== null && { day }) }))
        yield { table: source.table, row: readable(row) }
  }
}

const ofApp = 'app_id = {app_id:String}'
const byUuid = `${ofApp} AND install_uuid = {install_uuid:String}`
const byKey = `${ofApp} AND install_key = sipHash64({install_uuid:String})`

const sources: readonly Source[] = [
  ...tableNames.flatMap((table): Source[] => {
    const { personal }: Table = tables[table]
    const fixed = ['app_id', 'install_uuid', 'install_key']
    if (table === raw) return [{ table, where: `${byUuid} AND day = {day:Date}`, fixed: [...fixed, 'day'] }]
    if (personal.includes('install_uuid')) return [{ table, where: byUuid, fixed }]
    return personal.includes('install_key') ? [{ table, where: byKey, fixed }] : []
  }),
  {
    table: 'clicks_raw_v1',
    fixed: ['app_id'],
    // A click that it has lost may be that of another person by now.
    where: `${ofApp} AND click_id IN (
      SELECT click_id FROM install_claims_v1 FINAL WHERE ${byUuid} GROUP BY click_id HAVING sum(sign) > 0)`,
  },
]

/** Days with events of the install. */
async function findDays({ query }: Pick<Clickhouse, 'query'>, install: ExportedInstall): Promise<string[]> {
  const found = await query<{ on: string }>(
    `SELECT DISTINCT toString(${eventDay}) AS on FROM activity_by_day_v1 WHERE ${byKey} ORDER BY on`,
    { ...install },
  )
  return found.map(({ on }) => on)
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
