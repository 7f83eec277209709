import { randomUUID } from 'node:crypto'
import { rebuildFromAudit } from '@tributary/audited/rebuild'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { openClickhouseServer } from '@tributary/clickhouse/server'
import { KeptClick } from '@tributary/contracts/attribution/decision'
import { day_ms } from '@tributary/contracts/limits'
import type { ReportName } from '@tributary/contracts/reports'
import { utcDay } from '@tributary/domain/utc-day'
import { openTombstones } from '@tributary/erasure/tombstones'
import { archiveClicks } from '@tributary/tables/attribution/click-archive'
import { clickColumns, clickLine } from '@tributary/tables/attribution/clicks'
import { listAppFacts } from '@tributary/tenancy/companies/tenants'
import type { RunningEngine } from '@tributary/testing/engines/engine'
import type { TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { createAppleTwin } from '@tributary/testing/postback/apple-twin'
import { masterKeys } from '../reconcile/reconcile-world.ts'
import { openPostbackDoor } from '../replay/postback-door.ts'
import { openWorld, type Tenant } from '../replay/replay-world.ts'
import { openHttp } from '../reports/stage.ts'

/** The engine drops clicks of 90 days ago by its own clock. */
export const start_ms = Date.parse(`${utcDay(Date.now() - 5 * day_ms)}T09:20:00Z`)

const logger = { info() {} }
const apple = createAppleTwin()

/** Two databases of a ClickHouse server: one with live tables, one to build them again in. */
export async function openDatabases({ url }: RunningEngine) {
  const names = ['live', 'scratch'].map((name) => `${name}_${randomUUID().slice(0, 8)}`)
  const open = (database: string) =>
    openClickhouseServer({
      ...{ url, database, connect_timeout_ms: 5000, query_timeout_ms: 60_000, max_open_connections: 8 },
      complete_reads: true,
    })
  const server = await open('default')
  const opened = await Promise.all(
    names.map(async (name) => {
      await server.command(`CREATE DATABASE ${name}`)
      const clickhouse = await open(name)
      await migrateClickhouse({ clickhouse })
      return clickhouse
    }),
  )
  const [live, scratch] = opened as [Clickhouse, Clickhouse]
  return {
    ...{ live, scratch },
    /** What the drop of a database does to what is in it. */
    async empty(clickhouse: Clickhouse) {
      const tables = await clickhouse.query<{ name: string }>(
        `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND name != 'schema_migrations_v1'`,
      )
      for (const { name } of tables) await clickhouse.command(`TRUNCATE TABLE ${name}`)
    },
    async close() {
      for (const one of opened) await one.close()
      for (const name of names) await server.command(`DROP DATABASE ${name} SYNC`)
      await server.close()
    },
  }
}

/** Doors, log, writers and audit store over live tables, which can be built again. */
export async function openRebuildStage({ live, scratch, empty }: Awaited<ReturnType<typeof openDatabases>>) {
  await Promise.all([empty(live), empty(scratch)])
  const postgres = await openTestPostgres()
  const world = await openWorld({ clickhouse: live as TestClickhouse, pool: postgres.pool })
  world.clock.now_ms = start_ms
  const door = await openPostbackDoor(world, live, apple)
  const reports = await openHttp(live, () => [])
  const now = () => world.clock.now_ms

  const stage = {
    ...{ live, world, door, apple, pool: postgres.pool, now },
    hooks: { requireStopped: async () => {}, swapped: 0 },
    loseTables: () => empty(live),
    /** `before` is called with the table of each insert into a scratch table, and with each change of a live one. */
    async rebuild({ dry_run = false, keys = masterKeys, before = async (_what: string): Promise<void> => {} } = {}) {
      const doubts: string[] = []
      const reading = { replayed: 0, doubt: (reason: string) => void doubts.push(reason), reached() {} }
      const rebuilt = await rebuildFromAudit(
        {
          live: { ...live, command: (sql, options) => before(sql).then(() => live.command(sql, options)) },
          scratch: { ...scratch, insert: (block) => before(block.table).then(() => scratch.insert(block)) },
          ...{ audit: world.audit, apps: await listAppFacts(postgres.pool), now, reading, logger },
          tombstones: openTombstones({ pool: postgres.pool, masterKeys: keys }),
          postbackKeys: { current: () => apple.keys },
          signal: new AbortController().signal,
          requireStopped: () => stage.hooks.requireStopped(),
          async onSwapped() {
            stage.hooks.swapped += 1
          },
        },
        { dry_run },
      )
      await empty(scratch)
      const differing = rebuilt.tables.filter(({ differs }) => differs).map(({ name }) => name)
      return { ...rebuilt, differing, doubts }
    },
    /** Clicks as click-writer leaves them: archived, and in their table. */
    async writeClicks(tenants: readonly Tenant[], count: number) {
      const topic = 'clicks.recorded.v1@0000'
      const day = utcDay(now())
      const clicks = Array.from({ length: count }, (_, offset) =>
        KeptClick.parse({
          ...{ v: 1, click_id: randomUUID().replace(/(?<=^.{14})4/, '7'), company_id: 'co_1', link_id: 'l' },
          ...{ app_id: tenants[offset % tenants.length]!.app_id, partner: 'acme', campaign: 'c', ad_group: null },
          ...{ creative: null, ext_click_id: null, deep_link: null, country: null, lookback_hours: null, sub1: null },
          ...{ sub2: null, sub3: null, sub4: null, sub5: null, clicked_at_ms: now() + offset, filtered_reason: null },
          ...{ ip: '192.0.2.1', user_agent: 'x', os: 'android', os_major: 14, model: null, device_hashes: [] },
          place: { topic, partition: 0, offset, index: 0 },
        }),
      )
      await archiveClicks(world.audit, { source: topic, partition: 0, from: 0, to: count - 1, day }, clicks)
      const lines = clicks.map(({ place, ...click }) => clickLine(click, place)).join('\n')
      await live.insert({ table: 'clicks_raw_v1', columns: clickColumns, lines, token: randomUUID() })
      return clicks
    },
    /** The rows of some reports of an app, of five days before and after a time. */
    async reportsOf({ app_id }: Tenant, around_ms = start_ms) {
      const window = { since_ms: around_ms - 5 * day_ms, until_ms: around_ms + 5 * day_ms }
      const names: ReportName[] = ['events', 'revenue', 'attribution', 'performance']
      return Promise.all(names.map(async (one) => [one, await reports.ask(one, app_id, window as never)] as const))
    },
    async close() {
      await reports.close()
      await door.close()
      await world.close()
      await postgres.close()
    },
  }
  return stage
}
export type RebuildStage = Awaited<ReturnType<typeof openRebuildStage>>
