import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { erasedTables, tables } from '@tributary/contracts/tables'

type Query = Pick<Clickhouse, 'query'>

/** Installs of an app, at random and the same each time. */
export async function pickInstalls(clickhouse: Query, app_id: string, count: number): Promise<string[]> {
  const rows = await clickhouse.query<{ install_uuid: string }>(
    `SELECT install_uuid FROM installs_v1 WHERE app_id = '${app_id}' GROUP BY install_uuid
     ORDER BY sipHash64(install_uuid, 'erased') LIMIT ${count}`,
  )
  if (rows.length < count) throw new Error(`the app has ${rows.length} installs only`)
  return rows.map(({ install_uuid }) => install_uuid)
}

/** Rows of each table that an erasure deletes from, in a form that merges do not change. `without` is an app that is written to. */
export async function countRows(clickhouse: Query, without: string): Promise<Record<string, number>> {
  const engines = await clickhouse.query<{ name: string; engine: string }>(
    'SELECT name, engine FROM system.tables WHERE database = currentDatabase()',
  )
  const merging = new Set(engines.filter(({ engine }) => engine !== 'MergeTree').map(({ name }) => name))
  const counts: Record<string, number> = {}
  for (const table of erasedTables) {
    const final = merging.has(table) ? 'FINAL' : ''
    const [row] = await clickhouse.query<{ rows: number }>(
      `SELECT count() AS rows FROM ${table} ${final} WHERE app_id != '${without}' ${settings}`,
    )
    counts[table] = row!.rows
  }
  return counts
}

/** Rows of installs in each table that names them, by id or by its hash. */
export async function countOwn(
  clickhouse: Query,
  installs: ReadonlyMap<string, readonly string[]>,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const table of erasedTables) {
    const personal: readonly string[] = tables[table].personal
    const column = ['install_uuid', 'install_key'].find((name) => personal.includes(name))
    if (column === undefined) continue
    counts[table] = 0
    for (const [app_id, uuids] of installs) {
      const set = `(SELECT ${column === 'install_key' ? 'sipHash64(one)' : 'one'} FROM (SELECT arrayJoin([${uuids.map((uuid) => `'${uuid}'`).join(', ')}]) AS one))`
      const [row] = await clickhouse.query<{ rows: number }>(
        `SELECT count() AS rows FROM ${table} WHERE app_id = '${app_id}' AND ${column} IN ${set} ${settings}`,
      )
      counts[table] += row!.rows
    }
  }
  return counts
}

const settings = 'SETTINGS max_memory_usage = 800000000, max_threads = 2'
