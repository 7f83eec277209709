import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { readViewSources } from '@tributary/clickhouse/schema/view-sources'
import type { DerivedName } from '@tributary/contracts/tables'

/** The columns of each table that do not depend on how its rows came in. */
const forms: Record<DerivedName, string> = {
  events_per_day_v1:
    'app_id, day, event_name, currency, toString(sum(events)) AS events, toString(sum(revenue_micros)) AS micros',
  events_received_per_day_v1: 'app_id, received_day, toString(sum(events)) AS events',
  event_installs_per_day_v1: 'app_id, day, event_name, toString(uniqExactMerge(installs)) AS installs',
  activity_per_day_v1: 'app_id, install_uuid, day, toString(min(min_ts_ms)) AS first, toString(max(max_ts_ms)) AS last',
  identities_v1: 'app_id, install_uuid, user_id, toString(min(since_ms)) AS since',
  revenue_raw_v1: 'app_id, install_uuid, ts_ms, event_name, currency, amount_micros, topic, partition, offset, count()',
  transaction_keys_v1: 'app_id, toString(transaction_key) AS key, day, topic, partition, offset, count()',
  event_keys_v1: 'app_id, key_day, toString(event_key) AS key, topic, partition, offset, count()',
}

/**
 * The rows of an app and the counters of a topic in every table that views fill: `held` as the table is, `recomputed` from
 * the rows that it is made of.
 */
export async function derivedTables(clickhouse: Clickhouse, app_id: string, topic: string) {
  const views = await readViewSources(clickhouse)
  const read = async (relationOf: (table: string) => string) => {
    const tables: Record<string, unknown[]> = {}
    for (const [table, form] of Object.entries(forms)) {
      tables[table] = await clickhouse.query(
        `SELECT ${form} FROM ${relationOf(table)} AS t
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
