import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { adminApi } from '@tributary/admin-api/app'
import type { RewritableAuditStore } from '@tributary/audit-store/audit-store'
import { openFolderAuditStore } from '@tributary/audit-store/folder'
import { createGroupCommit } from '@tributary/audit-store/group-commit'
import type { Broker } from '@tributary/broker/broker'
import { openEmbeddedBroker } from '@tributary/broker/embedded'
import { ReplayProgress, type StartReplay } from '@tributary/contracts/admin/stored-data'
import { consumers } from '@tributary/contracts/consumers'
import { type EventRow, eventRowColumns } from '@tributary/contracts/rows'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { eventWriter } from '@tributary/event-writer/event-writer'
import { transactionSweep } from '@tributary/event-writer/money/sweep-transactions'
import { openGeo } from '@tributary/geo/open-geo'
import { ingestGateway } from '@tributary/ingest-gateway/app'
import { replayWhenAsked } from '@tributary/replayer/replay-when-asked'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { every } from '@tributary/service-kit/service/every'
import { createApp, createCompany, createServerKey } from '@tributary/tenancy/companies/tenants'
import { openCredentials } from '@tributary/tenancy/credentials/credentials-cache'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { noSchemas, sign } from '@tributary/testing/builders'
import type { TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { memoryCosts } from '@tributary/testing/twins/memory-costs'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, vi } from 'vitest'

const logger = pino({ level: 'silent' })
const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 7) }])
export const admin_token = 'a-token-of-this-test-and-no-other'
const request = { actor: 'test', request_id: 'r', now_ms: 0 }
export const patience = { timeout: 180_000, interval: 20 }

export interface Tenant {
  app_id: string
  company_key: string
  app_key: string
  signing_secret: string
  server_key: string
}

interface Given {
  clickhouse: TestClickhouse
  pool: Pool
  partitions?: number
  broker?: Broker
  audit?: RewritableAuditStore
}

/** Gateway, log, writer, audit store, admin API and replayer as one process has them, with a clock and a log that tests hold. */
export async function openWorld({ clickhouse, pool, partitions = 3, ...given }: Given) {
  const dir = await mkdtemp(join(tmpdir(), 'tributary-replay-'))
  const clock = { now_ms: Date.now() }
  const now = () => clock.now_ms
  const broker = given.broker ?? (await openEmbeddedBroker({ dir: join(dir, 'log'), now, partitions }))
  if (given.broker === undefined) {
    await broker.applyTopics(Object.values(topics).flatMap((topic) => [topic, deadLetterTopic(topic)]))
  }
  const audit = given.audit ?? (await openFolderAuditStore({ dir: join(dir, 'audit') }))
  const credentials = await openCredentials({ pool, masterKeys, now: Date.now, logger })
  const groupCommit = createGroupCommit({ store: audit, now, linger_ms: 5, bytes_max: 1e6, gateway: 'test' })
  const writer = await runConsumer({
    ...{ broker, consumer: eventWriter({ clickhouse }), logger, now },
    registry: new Registry(),
    fetch: { bytes_min: 1, bytes_max: 1024 * 1024, wait_ms_max: 10 },
  })
  /** What happens before the log takes the records of a gateway or a replay. */
  const log = { before: async (): Promise<void> => {} }
  const holding: Broker = {
    ...broker,
    async publish(records) {
      await log.before()
      await broker.publish(records)
    },
  }
  const app = createHttpApp({ logger })
  const registry = new Registry()
  const keyValue = memoryKeyValue(now)
  const status = async () => ({ ready: true, consumers: [], bindings: {} })
  const shared = { keyValue, now, registry, logger, audit, broker: holding }
  const gateway_id = 'test'
  const geo = await openGeo()
  await app.register(
    ingestGateway({
      ...{ ...shared, credentials, liveSchemas: noSchemas, groupCommit, gateway_id, costs: memoryCosts(), geo },
      partitions: await broker.partitionCount(topics.eventsAccepted.name),
    }),
  )
  const sessions = { find: async () => null }
  await app.register(
    adminApi({ ...shared, pool, masterKeys, admin_token, sessions, clickhouse, costs: memoryCosts(), status }),
  )
  const work = replayWhenAsked({ ...shared, pool, masterKeys, clickhouse })
  const replayer = every({ name: 'replay', pause_ms: 50, logger, registry, work })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`

  async function post(path: string, headers: Record<string, string>, body: Buffer | string) {
    const answer = await fetch(url + path, { method: 'POST', headers, body: body as string })
    return { status: answer.status, body: (await answer.json()) as { error?: string; event_id?: string } }
  }
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

  return {
    ...{ app, audit, broker, clock, log, url },
    async newTenant(): Promise<Tenant> {
      const { company_id, company_key } = await createCompany(pool, { name: 'C', plan: 'unlimited' }, request)
      const made = await createApp(pool, masterKeys, { company_id, name: 'A', platform: 'android' }, request)
      const { key } = await createServerKey(pool, { app_id: made.app_id, label: 'k', allowed_events: [] }, request)
      return { ...made, company_key, server_key: key }
    },
    sdk(tenant: Tenant, body: string, gzip = false) {
      const wire = gzip ? gzipSync(body) : Buffer.from(body)
      const headers: Record<string, string> = {
        'x-service-company-key': tenant.company_key,
        'x-service-app-key': tenant.app_key,
        'x-service-signature': sign(tenant.signing_secret, wire),
        'x-service-sdk': 'test/1',
        ...(gzip ? { 'content-encoding': 'gzip' } : {}),
      }
      return post('/event', headers, wire)
    },
    single: (tenant: Tenant, event: object) => post('/s2s/event', bearer(tenant.server_key), JSON.stringify(event)),
    bulk: (tenant: Tenant, events: object[]) =>
      post('/s2s/events/bulk', bearer(tenant.server_key), JSON.stringify({ events })),
    async untilWritten() {
      const { name, topic } = consumers.eventWriter
      await vi.waitFor(async () => {
        const offsets = await broker.groupOffsets(name, topic.name)
        expect(offsets.filter(({ committed, earliest, end }) => (committed ?? earliest) < end)).toEqual([])
      }, patience)
      await transactionSweep(clickhouse)()
    },
    /** The last line of a replay, or the error that refused it. */
    async replay(asked: Partial<StartReplay> & { source: StartReplay['source'] }, signal?: AbortSignal) {
      const answer = await fetch(`${url}/admin/api/v1/replays`, {
        method: 'POST',
        headers: bearer(admin_token),
        body: JSON.stringify(asked),
        ...(signal === undefined ? {} : { signal }),
      })
      const lines = (await answer.text()).trim().split('\n')
      const last = JSON.parse(lines.at(-1)!)
      return answer.status === 200 ? ReplayProgress.parse(last) : (last as { error: string })
    },
    async close() {
      await app.close()
      await replayer.close()
      await groupCommit.close()
      await writer.close()
      await credentials.close()
      if (given.audit === undefined) await audit.close()
      if (given.broker === undefined) await broker.close()
      await rm(dir, { recursive: true, force: true })
    },
  }
}
export type World = Awaited<ReturnType<typeof openWorld>>

/**
 * All tables that events fill, as reports read them. Without positions in the log, which a replay changes, and without
 * money that does not count: the first claim on a transaction decides whether a beaten one is cancelled or never
 * counted (docs/decisions/money.md#claims-on-a-transaction-have-ranks).
 */
export async function tablesOf(clickhouse: TestClickhouse): Promise<Record<string, string[]>> {
  const tables = { ...(await clickhouse.readEventTables()) }
  for (const [name, sql] of Object.entries(withoutCancelled)) tables[name] = await clickhouse.query(sql)
  return Object.fromEntries(
    Object.entries(tables).map(([name, rows]) => [
      name,
      rows
        .map((row) => JSON.stringify({ ...(row as object), topic: '', partition: 0, offset: 0, written_at_ms: 0 }))
        .sort(),
    ]),
  )
}

const place = 'app_id, transaction_key, topic, partition, offset'
const isCancelled = `(${place}) IN (SELECT ${place} FROM revenue_cancelled_v1)`
const withoutCancelled = {
  events_raw_v1: `SELECT * REPLACE (revenue_counts AND NOT ${isCancelled} AS revenue_counts) FROM events_raw_v1`,
  revenue_raw_v1: `SELECT * FROM revenue_raw_v1 WHERE NOT ${isCancelled}`,
  transaction_keys_v1: `SELECT * FROM transaction_keys_v1 WHERE NOT ${isCancelled}`,
  transaction_claims_v1: `SELECT * FROM transaction_claims_v1 WHERE NOT ${isCancelled}`,
  money_days_v1: `
    SELECT app_id, install_key, toString(arraySort(groupUniqArray(m.day))) AS day FROM money_days_v1 AS m
    WHERE (app_id, install_key, m.day) IN (
      SELECT app_id, sipHash64(install_uuid), day FROM revenue_raw_v1 WHERE NOT ${isCancelled}
    ) GROUP BY ALL`,
  events_per_day_v1: `
    SELECT app_id, day, event_name, currency, sum(events) AS events, toString(sum(micros)) AS revenue_micros
    FROM (
      SELECT app_id, day, event_name, currency, events, toInt128(revenue_micros) AS micros
      FROM events_per_day_v1 WHERE NOT startsWith(app_id, '/')
      UNION ALL
      SELECT app_id, day, event_name, currency, 0, -toInt128(amount_micros) FROM revenue_cancelled_v1 FINAL
    ) GROUP BY ALL`,
}

/** Takes events out of every table; `keep` says which stay. */
export async function loseEvents(clickhouse: TestClickhouse, keep: (row: EventRow) => boolean): Promise<number> {
  const columns = eventRowColumns.map((column) =>
    ['event_key', 'transaction_key', 'revenue_micros'].includes(column) ? `toString(${column}) AS ${column}` : column,
  )
  const rows = await clickhouse.query<EventRow>(`SELECT ${columns} FROM events_raw_v1`)
  const kept = rows.filter(keep)
  const filled = await clickhouse.query<{ name: string }>(
    `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND name != 'schema_migrations_v1'`,
  )
  for (const { name } of filled) await clickhouse.command(`TRUNCATE TABLE ${name}`)
  if (kept.length > 0) await clickhouse.insertEvents(kept, randomUUID())
  return rows.length - kept.length
}
