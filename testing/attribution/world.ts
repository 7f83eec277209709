import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openEmbeddedBroker } from '@tributary/broker/embedded'
import { service as clickWriter } from '@tributary/click-writer/service'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Decision } from '@tributary/contracts/attribution/decision'
import { consumers as groups } from '@tributary/contracts/consumers'
import { report_path } from '@tributary/contracts/reports'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import type { Geo } from '@tributary/geo/geo'
import { service as installAttributor } from '@tributary/install-attributor/service'
import { service as installFinder } from '@tributary/install-finder/service'
import { service as installWriter } from '@tributary/install-writer/service'
import { reportApi } from '@tributary/report-api/app'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import type { ServiceParts } from '@tributary/service-kit/service/service-parts'
import { systemStatus } from '@tributary/service-kit/service/system-status'
import { findNewest } from '@tributary/tables/attribution/verdicts'
import type { AttributionApps } from '@tributary/tenancy/attribution/attribution-apps'
import pino from 'pino'
import { Registry } from 'prom-client'
import { buildTenant, memoryCredentials, type Tenant } from '../builders.ts'
import { memoryAuditStore } from '../twins/memory-audit-store.ts'
import { memoryKeyValue } from '../twins/memory-key-value.ts'
import { memoryRedecisions } from '../twins/memory-redecisions.ts'
import { noPostbacks } from '../twins/postback-apps.ts'
import type { AttributionRow } from './expected-report.ts'

const logger = pino({ level: process.env.SIMULATION_LOG ?? 'silent' })

export interface WorldOptions {
  clickhouse: Clickhouse
  attributionApps: AttributionApps
  geo: Geo
  now: () => number
  partitions?: number
}

const names = new Set<string>(['install-finder', 'click-writer', 'install-attributor', 'install-writer'])

/** The four consumers of attribution as standalone runs them, on an embedded log, with tenants and a clock of the test. */
export async function openWorld({ clickhouse, attributionApps, geo, now, partitions = 4 }: WorldOptions) {
  const dir = await mkdtemp(join(tmpdir(), 'tributary-attribution-'))
  const broker = await openEmbeddedBroker({ dir, now: Date.now, partitions })
  await broker.applyTopics(Object.values(topics).flatMap((topic) => [topic, deadLetterTopic(topic)]))
  const redecisions = memoryRedecisions({ partitions })
  const registry = new Registry()
  const context = {
    ...{
      broker,
      clickhouse,
      redecisions,
      attributionApps,
      appsWithSecrets: attributionApps,
      geo,
      now,
      elapsed: now,
      logger,
      registry,
    },
    // Retention has blanked nothing.
    postgres: { query: async () => ({ rows: [] }) },
    ...{ audit: memoryAuditStore(), embedded: true, config: {}, onClose: () => {}, troubles: [] },
  }
  const parts = [installFinder, clickWriter, installAttributor, installWriter] as unknown as ServiceParts<
    typeof context
  >[]
  const definitions = parts.flatMap(({ consumers = [] }) => consumers.flatMap((build) => build(context) ?? []))
  const running = await Promise.all(
    definitions.map((consumer) =>
      runConsumer({
        ...{ broker, consumer, logger, registry: new Registry(), now: Date.now },
        fetch: { bytes_min: 1, bytes_max: 1024 * 1024, wait_ms_max: 20 },
      }),
    ),
  )
  const consumers = Object.values(groups).filter(({ name }) => names.has(name))
  const health = { isReady: async () => true, bindings: async () => ({}) }
  const backlogs = new Map([[groups.installAttributor.name, redecisions.backlog]])
  const tenants = new Map<string, Tenant>()
  const reports = createHttpApp({ logger })
  const credentials: ReturnType<typeof memoryCredentials> = {
    ...memoryCredentials([]),
    findServerKey: async (key) => tenants.get(key)?.key ?? null,
  }
  await reports.register(
    reportApi({
      ...{ clickhouse, credentials, logger, registry, now, keyValue: memoryKeyValue(now), embedded: true },
      fxRates: { find: async () => () => null },
      ...noPostbacks(),
    }),
  )

  async function runJobs(isWanted: (job: { name: string }) => boolean): Promise<void> {
    for (const job of parts.flatMap(({ jobs = [] }) => jobs).filter(isWanted)) {
      await job.prepare(context)(new AbortController().signal)
    }
  }

  return {
    ...{ broker, registry, partitions },
    /** Resolves once all verdicts are in the tables, as `status --wait` does. */
    async untilWritten(ms_max: number): Promise<void> {
      for (const deadline = performance.now() + ms_max; ; await pause(100)) {
        await runJobs(({ name }) => name === 'redecisions')
        const { consumers: found } = await systemStatus({ consumers, backlogs, broker, health, now })
        if (found.every(({ lag }) => lag === 0)) return
        if (performance.now() > deadline) throw new Error(`not written in ${ms_max} ms: ${JSON.stringify(found)}`)
      }
    },
    /** Runs each job of the services once. */
    runJobs: () => runJobs(() => true),
    /** All rows of the attribution report of an app, as its backend reads them. */
    async report(app_id: string, since_ms: number, until_ms: number): Promise<AttributionRow[]> {
      const tenant = buildTenant()
      tenants.set(tenant.server_key, { ...tenant, key: { ...tenant.key, app_id } })
      const rows: AttributionRow[] = []
      for (;;) {
        const path = report_path.replace(':report', 'attribution')
        const url = `${path}?since_ms=${since_ms}&until_ms=${until_ms}&limit=1000&offset=${rows.length}`
        const answer = await reports.inject({ url, headers: { authorization: `Bearer ${tenant.server_key}` } })
        if (answer.statusCode !== 200) throw new Error(`the report answered ${answer.statusCode} ${answer.body}`)
        const page = (answer.json() as { rows: AttributionRow[] }).rows
        rows.push(...page)
        if (page.length < 1000) return rows
      }
    },
    /** The newest decision of each of these installs of an app. */
    async decisions(app_id: string, install_uuids: readonly string[]): Promise<Map<string, Decision>> {
      const found = new Map<string, Decision>()
      for (let from = 0; from < install_uuids.length; from += 1000) {
        const newest = await findNewest(clickhouse, app_id, install_uuids.slice(from, from + 1000))
        for (const [install_uuid, { decision }] of newest) found.set(install_uuid, decision)
      }
      return found
    },
    async close(): Promise<void> {
      await reports.close()
      await Promise.all(running.map((one) => one.close()))
      await broker.close()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

export type World = Awaited<ReturnType<typeof openWorld>>
