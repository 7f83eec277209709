import { createHash, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { openEmbeddedClickhouse } from '@tributary/clickhouse/embedded'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { type EventRow, eventRowColumns } from '@tributary/contracts/rows'

/** A migrated ClickHouse engine of its own; `close` removes its data. */
export interface TestClickhouse extends Clickhouse {
  data_dir: string
  /** One block into `events_raw_v1`, as the event-writer sends it. */
  insertEvents(rows: readonly EventRow[], token: string): Promise<void>
  /** Every table that events fill, read in a form that merges don't change. */
  readEventTables(): Promise<Record<string, unknown[]>>
  /** Stops the engine and starts it on the same data, which `change` may change meanwhile. */
  reopen(change?: () => Promise<void>): Promise<void>
}

/** chdb holds one data folder a process, so close one before the next is opened. */
export async function openTestClickhouse({ migrated = true } = {}): Promise<TestClickhouse> {
  const data_dir = await mkdtemp(join(tmpdir(), 'tributary-clickhouse-'))
  let clickhouse = await openEmbeddedClickhouse({ data_dir })
  if (migrated) await migrateClickhouse({ clickhouse })
  return {
    query: (sql, params) => clickhouse.query(sql, params),
    insert: (insert) => clickhouse.insert(insert),
    isInserting: (prefix) => clickhouse.isInserting(prefix),
    command: (sql, options) => clickhouse.command(sql, options),
    checkHealth: () => clickhouse.checkHealth(),
    data_dir,
    insertEvents: (rows, token) =>
      clickhouse.insert({ table: 'events_raw_v1', columns: eventRowColumns, lines: eventLines(rows), token }),
    readEventTables: () => readEventTables(clickhouse),
    async reopen(change) {
      await clickhouse.close()
      await change?.()
      clickhouse = await openEmbeddedClickhouse({ data_dir })
    },
    async close() {
      await clickhouse.close()
      await rm(data_dir, { recursive: true, force: true })
    },
  }
}

/** A row as the event-writer makes it; day and key follow from the time, the install and the event id. */
export function testEventRow(given: Partial<EventRow> & { app_id: string; ts_ms: number }): EventRow {
  const { install_uuid = randomUUID(), event_id = randomUUID(), ts_ms } = given
  const day = new Date(ts_ms).toISOString().slice(0, 10)
  const hash = createHash('sha256').update(`${install_uuid}/${event_id}`).digest()
  return {
    day,
    install_uuid,
    event_name: 'level_up',
    event_id,
    event_key: hash.readBigUInt64BE().toString(),
    key_day: day,
    user_id: '',
    revenue_micros: null,
    currency: '',
    transaction_id: '',
    product_id: '',
    props: '{}',
    device: '{}',
    extra: '{}',
    platform: 'android',
    source: 'sdk',
    sdk: '',
    sdk_platform: '',
    ip: '192.0.2.1',
    user_agent: '',
    company_id: 'co_test',
    audit_key: '',
    received_at_ms: ts_ms,
    sent_at_ms: 0,
    topic: 'events.accepted.v1',
    partition: 0,
    offset: 0,
    transaction_key: '0',
    revenue_counts: (given.revenue_micros ?? null) === null ? 0 : 1,
    ...given,
  }
}

const eventLines = (rows: readonly EventRow[]): string =>
  rows.map((row) => JSON.stringify(eventRowColumns.map((column) => row[column]))).join('\n')

async function readEventTables(clickhouse: Clickhouse): Promise<Record<string, unknown[]>> {
  const tables = {
    events_raw_v1: 'SELECT * FROM events_raw_v1 ORDER BY ALL',
    event_keys_v1: 'SELECT * FROM event_keys_v1 ORDER BY ALL',
    events_per_day_v1: `SELECT app_id, day, event_name, currency, sum(events) AS events,
      toString(sum(revenue_micros)) AS revenue_micros FROM events_per_day_v1
      WHERE NOT startsWith(app_id, '/') GROUP BY ALL ORDER BY ALL`,
    event_installs_per_day_v1: `SELECT app_id, day, event_name, uniqExactMerge(installs) AS installs
      FROM event_installs_per_day_v1 GROUP BY ALL ORDER BY ALL`,
    activity_per_day_v1: `SELECT app_id, install_uuid, day, min(min_ts_ms) AS min_ts_ms, max(max_ts_ms) AS max_ts_ms
      FROM activity_per_day_v1 GROUP BY ALL ORDER BY ALL`,
    revenue_raw_v1: 'SELECT * FROM revenue_raw_v1 ORDER BY ALL',
    transaction_keys_v1: 'SELECT * EXCEPT written_at_ms FROM transaction_keys_v1 ORDER BY ALL',
    events_received_per_day_v1: `SELECT app_id, received_day, sum(events) AS events
      FROM events_received_per_day_v1 WHERE NOT startsWith(app_id, '/') GROUP BY ALL ORDER BY ALL`,
    identities_v1: `SELECT app_id, install_uuid, user_id, min(since_ms) AS since_ms
      FROM identities_v1 GROUP BY ALL ORDER BY ALL`,
  }
  const rows: Record<string, unknown[]> = {}
  for (const [table, sql] of Object.entries(tables)) rows[table] = await clickhouse.query(sql)
  return rows
}
