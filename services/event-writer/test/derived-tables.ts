import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { readViewSources } from '@tributary/clickhouse/schema/view-sources'
import { type DerivedName, derivedFromEvents, derivedOf } from '@tributary/contracts/tables'

/** What of a table does not depend on how its rows came in. */
function formOf(table: DerivedName): string {
  const { groups, values = {}, sums = {} } = derivedOf(table)
  const aggregates = Object.entries({ ...values, ...sums }).map(([name, [held]]) => `toString(${held}) AS ${name}`)
  return [...Object.keys(groups), ...(aggregates.length > 0 ? aggregates : ['count() AS rows'])].join(', ')
}

/**
 * The rows of an app and the counters of a topic in every table that views fill: `held` as the table is, `recomputed` from
 * the rows that it is made of.
 */
export async function derivedTables(clickhouse: Clickhouse, app_id: string, topic: string) {
  const views = await readViewSources(clickhouse)
  const read = async (relationOf: (table: string) => string) => {
    const tables: Record<string, unknown[]> = {}
    for (const table of derivedFromEvents) {
      tables[table] = await clickhouse.query(
        `SELECT ${formOf(table)} FROM ${relationOf(table)} AS t
         WHERE app_id = {app_id:String} OR startsWith(app_id, {counters:String}) GROUP BY ALL ORDER BY ALL`,
        { app_id, counters: `/${topic}@` },
      )
    }
    return tables
  }
  // A column with a default is in a table without its view.
  const defaults = await clickhouse.query<{ table: string; name: string; sql: string }>(
    `SELECT table, name, default_expression AS sql FROM system.columns
     WHERE database = currentDatabase() AND default_kind = 'DEFAULT' AND table IN {tables:Array(String)}`,
    { tables: [...derivedFromEvents] },
  )
  const filled = await clickhouse.query<{ table: string; name: string }>(
    `SELECT table, name FROM system.columns WHERE database = currentDatabase() AND table IN {views:Array(String)}`,
    { views: derivedFromEvents.map((table) => table.replace(/_v(\d+)$/, '_mv_v$1')) },
  )
  const isFilled = ({ table, name }: { table: string; name: string }) =>
    filled.some((column) => column.table.replace('_mv_', '_') === table && column.name === name)
  const selectOf = (table: string): string => {
    const { source, selectFrom } = views.get(table)!
    const rows = selectFrom(source === 'events_raw_v1' ? source : selectOf(source))
    const more = defaults.filter((column) => column.table === table && !isFilled(column))
    return `(SELECT ${['*', ...more.map(({ name, sql }) => `${sql} AS ${name}`)].join(', ')} FROM (${rows}))`
  }
  return { held: await read((table) => table), recomputed: await read(selectOf) }
}
