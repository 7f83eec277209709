import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { erasedTables, tables } from '@tributary/contracts/tables'

/** Rows by table that name an install, by its id or the hash of it. */
export async function rowsByInstall(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  install_uuid: string,
): Promise<Record<string, number>> {
  const found: [table: string, rows: number][] = []
  for (const table of erasedTables) {
    const personal: readonly string[] = tables[table].personal
    const by = ['install_uuid', 'install_key'].filter((column) => personal.includes(column))
    for (const column of by) {
      const value = column === 'install_uuid' ? `'${install_uuid}'` : `sipHash64('${install_uuid}')`
      const sql = `SELECT count() AS rows FROM ${table} WHERE app_id = '${app_id}' AND ${column} = ${value}`
      const [row] = await clickhouse.query<{ rows: number }>(sql)
      if (row!.rows > 0) found.push([table, row!.rows])
    }
  }
  return Object.fromEntries(found)
}
