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
  const selectOf = (table: string): string => {
    const { source, selectFrom } = views.get(table)!
    return `(${selectFrom(source === 'events_raw_v1' ? source : selectOf(source))})`
  }
  return { held: await read((table) => table), recomputed: await read(selectOf) }
}
