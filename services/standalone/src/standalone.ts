import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { adminApi } from '@tributary/admin-api/app'
import { createGroupCommit } from '@tributary/audit-store/group-commit'
import type { SystemStatus } from '@tributary/contracts/admin'
import { limits } from '@tributary/contracts/limits'
import { eventWriter } from '@tributary/event-writer/event-writer'
import { ingestGateway } from '@tributary/ingest-gateway/app'
import { openCredentials } from '@tributary/postgres/credentials-cache'
import { openMasterKeys, readMasterKey } from '@tributary/postgres/master-keys'
import { reportApi } from '@tributary/report-api/app'
import type { ConsumerDefinition } from '@tributary/service-kit/consumer'
import { lockDataDir } from '@tributary/service-kit/data-dir-lock'
import { createHealth, type Health } from '@tributary/service-kit/health'
import { createHttpApp } from '@tributary/service-kit/http'
import { runConsumer } from '@tributary/service-kit/run-consumer'
import type { OnClose } from '@tributary/service-kit/run-service'
import type { Logger } from 'pino'
import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Config } from './config.ts'
import { makeDemoCompany } from './demo.ts'
import { type Engines, openEngines, standalonePartitions } from './engines.ts'
import { openLocalSecrets } from './local-secrets.ts'

export interface StandaloneOptions {
  config: Config
  logger: Logger
  onClose: OnClose
  /** Shows a line to the person at the terminal. */
  say: (line: string) => void
}

/** Everything in one process on one port; resolves once it takes traffic, with its address. */
export async function startStandalone({ config, logger, onClose, say }: StandaloneOptions): Promise<string> {
  const now = Date.now
  const data_dir = resolve(config.data_dir)
  const lock = lockDataDir(data_dir)
  onClose('data folder lock', async () => lock.release())
  const secrets = openLocalSecrets(data_dir)
  const masterKeys = openMasterKeys([readMasterKey(config.master_key ?? secrets.master_key)])
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })

  const engines = await openEngines({ data_dir, logger, now, registry, onClose })
  const health = createHealth({ checks: healthChecks(engines), now, registry })
  const credentials = await openCredentials({ pool: engines.pool, masterKeys, now, logger, registry })
  onClose('credentials', () => credentials.close())

  const consumers: ConsumerDefinition<never>[] = [
    eventWriter({ clickhouse: engines.clickhouse, registry, logger }) as ConsumerDefinition<never>,
  ]
  for (const consumer of consumers) {
    const { broker } = engines
    const running = await runConsumer({ broker, consumer, generation: '1', logger, registry, now })
    onClose(consumer.name, () => running.close())
  }

  const gateway_id = randomBytes(4).toString('hex')
  const groupCommit = createGroupCommit({
    store: engines.audit,
    now,
    linger_ms: limits.audit_group_linger_ms,
    bytes_max: limits.audit_group_bytes_max,
    gateway: gateway_id,
  })
  onClose('audit groups', () => groupCommit.close())

  const { audit, broker, clickhouse, pool } = engines
  const app = createHttpApp({ logger, trusted_proxies: config.trusted_proxies })
  health.routes(app)
  const shared = { credentials, now, registry, logger }
  await app.register(
    ingestGateway({ ...shared, audit, groupCommit, broker, partitions: standalonePartitions, gateway_id }),
  )
  await app.register(reportApi({ ...shared, clickhouse }))
  await app.register(
    adminApi({
      pool,
      masterKeys,
      admin_token: config.admin_token ?? secrets.admin_token,
      status: () => systemStatus(consumers, engines, health, now),
      now,
      logger,
      registry,
    }),
  )
  await app.listen({ port: config.port, host: config.host })
  onClose('http', () => app.close())
  onClose('readiness', async () => health.stopping())

  const { port } = app.server.address() as AddressInfo
  const base_url = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`
  for (const line of (await makeDemoCompany({ pool, masterKeys, data_dir, base_url, now })) ?? []) say(line)
  health.started()
  say(`Tributary is ready at ${base_url}`)
  return base_url
}

function healthChecks({ pool, audit, keyValue, broker, clickhouse }: Engines): Record<string, () => Promise<void>> {
  return {
    database: async () => {
      await pool.query('SELECT 1')
    },
    object_storage: () => audit.checkHealth(),
    key_value: () => keyValue.checkHealth(),
    queues: () => broker.checkHealth(),
    analytics: () => clickhouse.checkHealth(),
  }
}

async function systemStatus(
  consumers: readonly ConsumerDefinition<never>[],
  { broker }: Engines,
  health: Health,
  now: () => number,
): Promise<SystemStatus> {
  const states = consumers.map(async ({ name, topic }) => {
    const partitions = await broker.groupOffsets(name, topic.name)
    const lag = partitions.reduce((sum, { committed, earliest, end }) => sum + end - (committed ?? earliest), 0)
    const oldest = partitions.flatMap(({ oldest_unread_ms }) => (oldest_unread_ms === null ? [] : [oldest_unread_ms]))
    const oldest_unwritten_ms = lag > 0 && oldest.length > 0 ? Math.max(0, now() - Math.min(...oldest)) : null
    return { name, topic: topic.name, lag, oldest_unwritten_ms }
  })
  return { ready: health.isReady(), consumers: await Promise.all(states), bindings: await health.bindings() }
}
