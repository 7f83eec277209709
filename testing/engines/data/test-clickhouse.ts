import { createHash, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { openEmbeddedClickhouse } from '@tributary/clickhouse/embedded'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { type EventRow, eventRowColumns, jsonColumns, textColumns } from '@tributary/contracts/rows'
import { derivedFromEvents, derivedOf, rowsOfApps } from '@tributary/contracts/tables'
import { recording } from '../../statements/record.ts'
import { fillFolder, tables_template } from './template.ts'

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
  if (migrated) await fillFolder(tables_template, data_dir, makeMigrated)
  let clickhouse = recording(await openEmbeddedClickhouse({ data_dir }))
  return {
    query: (sql, params) => clickhouse.query(sql, params),
    stream: (sql, options) => clickhouse.stream(sql, options),
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
      clickhouse = recording(await openEmbeddedClickhouse({ data_dir }))
    },
    async close() {
      await clickhouse.close()
      await rm(data_dir, { recursive: true, force: true })
    },
  }
}

/** Leaves a migrated data folder. */
async function makeMigrated(data_dir: string): Promise<void> {
  const replaced: string[] = []
  const clickhouse = await openEmbeddedClickhouse({ data_dir })
  try {
    await migrateClickhouse({ clickhouse })
    replaced.push(...(await gatherMigrations(clickhouse)))
  } finally {
    await clickhouse.close()
  }
  for (const part of replaced) await rm(part, { recursive: true, force: true })
}

/**
 * Makes one part of the migrations, each of which is a part of its own: nine of ten files that each test would copy and open.
 * Gives back the folders that the engine would only delete later.
 */
async function gatherMigrations(clickhouse: Clickhouse): Promise<string[]> {
  await clickhouse.command('OPTIMIZE TABLE schema_migrations_v1 FINAL')
  const parts = await clickhouse.query<{ path: string }>('SELECT path FROM system.parts WHERE NOT active')
  return parts.map(({ path }) => path)
}

/** A row as the event-writer makes it; day and key follow from the time, the install and the event id. */
export function testEventRow(given: Partial<EventRow> & { app_id: string; ts_ms: number }): EventRow {
  const { install_uuid = randomUUID(), event_id = randomUUID(), ts_ms } = given
  const day = new Date(ts_ms).toISOString().slice(0, 10)
  const hash = createHash('sha256').update(`${install_uuid}/${event_id}`).digest()
  return {
    day,
    install_uuid,
    correction_ms: 0,
    event_name: 'level_up',
    event_id,
    event_key: hash.readBigUInt64BE().toString(),
    key_day: day,
    ...Object.fromEntries(textColumns.map((name) => [name, ''])),
    ...Object.fromEntries(jsonColumns.map((name) => [name, '{}'])),
    revenue_micros: null,
    currency: '',
    platform: 'android',
    source: 'sdk',
    sdk: '',
    sdk_platform: '',
    ip: '192.0.2.1',
    user_agent: '',
    country: '',
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
  } as EventRow
}

const eventLines = (rows: readonly EventRow[]): string =>
  rows.map((row) => JSON.stringify(eventRowColumns.map((column) => row[column]))).join('\n')

async function readEventTables(clickhouse: Clickhouse): Promise<Record<string, unknown[]>> {
  const rows: Record<string, unknown[]> = {
    events_raw_v1: await clickhouse.query('SELECT * FROM events_raw_v1 ORDER BY ALL'),
  }
  for (const table of derivedFromEvents) {
    const { groups, values = {}, sums = {} } = derivedOf(table)
    const columns = Object.keys(groups)
    const aggregates = Object.entries({ ...values, ...sums }).map(([name, [held]]) => `toString(${held}) AS ${name}`)
    const grouped = aggregates.length > 0 ? `GROUP BY ${columns}` : ''
    rows[table] = await clickhouse.query(
      `SELECT ${[...columns, ...aggregates]} FROM ${table} WHERE ${rowsOfApps(table)} ${grouped} ORDER BY ALL`,
    )
  }
  return rows
}
