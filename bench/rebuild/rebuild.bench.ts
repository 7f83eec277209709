import { rebuildFromAudit } from '@tributary/audited/rebuild'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { openClickhouseServer } from '@tributary/clickhouse/server'
import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { applePostbackKeys } from '@tributary/domain/postback/keys'
import { openTombstones } from '@tributary/erasure/tombstones'
import { createApp, createCompany, listAppFacts } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openEngine } from '@tributary/testing/engines/open-engine'
import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { pino } from 'pino'
import { type Bench, type BenchRow, numberArgument } from '../bench.ts'
import { type CpuSpent, startCpuWatch } from '../writer/cpu-watch.ts'
import { openEmbeddedLog } from '../writer/engines.ts'
import { waitForMerges } from '../writer/prefill.ts'
import { measureWriter } from '../writer/stages.ts'
import { sendRequests } from './requests.ts'

const masterKeys = openMasterKeys([{ id: 'bench', key: Buffer.alloc(32, 7) }])
const logger = pino({ level: 'silent' })
const partitions = 4
/** A rebuild should reach this share of the writer's rate. */
const share_min = 0.5

/** Measures a rebuild from audited requests, against the writer, which writes the same events from the log just before. */
export const bench: Bench = {
  name: 'rebuild',
  title: 'rebuild: tables from the audit store, against the event-writer in the same run (--events 300000)',
  async run(args) {
    const engine = await openEngine('clickhouse')
    const [log, postgres] = await Promise.all([openEmbeddedLog(partitions), openTestPostgres()])
    const [live, scratch] = await openDatabases(engine.url)
    const audit = memoryAuditStore()
    try {
      const topic = { ...topics.eventsAccepted, partitions }
      await log.broker.applyTopics([topic, deadLetterTopic(topic)])
      const app = await makeApp(postgres.pool)
      const start_ms = Math.floor(Date.now() / day_ms) * day_ms - day_ms + 9 * hour_ms
      const events = await sendRequests(audit, log.broker, app, numberArgument(args, 'events', 300_000), start_ms)
      const writer = await measureWriter(log.broker, live, events)
      await waitForMerges(live)
      const rebuild = async () => {
        const watch = startCpuWatch()
        const { tables } = await rebuildFromAudit(
          {
            ...{ live, scratch, audit, logger, now: Date.now },
            reading: { replayed: 0, doubt() {}, reached() {} },
            apps: await listAppFacts(postgres.pool),
            tombstones: openTombstones({ pool: postgres.pool, masterKeys }),
            postbackKeys: { current: applePostbackKeys },
            signal: new AbortController().signal,
            requireStopped: async () => {},
            onSwapped: async () => {},
          },
          { dry_run: false },
        )
        const spent = watch()
        await empty(scratch)
        await waitForMerges(live)
        const rows = tables.find(({ name }) => name === 'events_raw_v1')!
        return { ...spent, ...rows }
      }
      const equal = await rebuild()
      await empty(live)
      const lost = await rebuild()
      const share = shareOf(lost, writer, ({ seconds }) => seconds)
      const share_of_cpu = shareOf(lost, writer, ({ own, engine: of_engine }) => own + of_engine)
      const wrong = (equal.differs ? 1 : 0) + Math.abs(equal.rows - events) + Math.abs(lost.rows - events)
      return {
        rows: [
          rowOf('the writer, from the log', writer),
          rowOf('rebuild, tables equal', equal),
          rowOf('rebuild, tables lost', lost),
        ],
        aims: [
          { what: "events/s, of the writer's", aim: `>= ${share_min}`, measured: share, met: share >= share_min },
          {
            ...{ what: "events for each CPU second, of the writer's", aim: `>= ${share_min}` },
            ...{ measured: share_of_cpu, met: share_of_cpu >= share_min },
          },
          { what: 'events missing, surplus or different', aim: '0', measured: wrong, met: wrong === 0 },
        ],
      }
    } finally {
      await Promise.all([live.close(), scratch.close(), log.close(), postgres.close()])
      await engine.stop()
    }
  },
}

type Part = CpuSpent & { rows: number }

/** Events of a part for what it spent, of those of another. */
const shareOf = (part: Part, other: Part, spent: (by: Part) => number): number =>
  Math.round((part.rows / spent(part) / (other.rows / spent(other))) * 100) / 100

function rowOf(part: string, { rows, seconds, own, engine }: Part): BenchRow {
  const us = (spent: number) => Math.round((spent / rows) * 1e7) / 10
  return {
    ...{ part, events: rows, events_per_s: Math.round(rows / seconds) },
    events_per_cpu_second: Math.round(rows / (own + engine)),
    ...{ own_us: us(own), engine_us: us(engine) },
    rss_mb: Math.round(process.memoryUsage.rss() / 1e6),
  }
}

async function openDatabases(url: string): Promise<[Clickhouse, Clickhouse]> {
  const open = (database: string) =>
    openClickhouseServer({
      ...{ url, database, connect_timeout_ms: 5000, query_timeout_ms: 600_000, max_open_connections: 8 },
      ...{ complete_reads: true, logger },
    })
  const server = await open('default')
  const opened: Clickhouse[] = []
  for (const name of ['bench_live', 'bench_scratch']) {
    await server.command(`CREATE DATABASE ${name}`)
    const clickhouse = await open(name)
    await migrateClickhouse({ clickhouse })
    opened.push(clickhouse)
  }
  await server.close()
  return opened as [Clickhouse, Clickhouse]
}

/** Empties the tables, as the loss of a database does. */
async function empty(clickhouse: Clickhouse): Promise<void> {
  const tables = await clickhouse.query<{ name: string }>(
    `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND name != 'schema_migrations_v1'`,
  )
  for (const { name } of tables) await clickhouse.command(`TRUNCATE TABLE ${name}`)
}

async function makeApp(pool: Parameters<typeof createCompany>[0]) {
  const request = { actor: 'bench', request_id: 'r', now_ms: Date.now() }
  const { company_id } = await createCompany(pool, { name: 'B', plan: 'unlimited' }, request)
  const { app_id } = await createApp(pool, masterKeys, { company_id, name: 'B', platform: 'android' }, request)
  return { app_id, company_id }
}
