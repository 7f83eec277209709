import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { AuditStore } from '@tributary/audit-store/audit-store'
import { createGroupCommit } from '@tributary/audit-store/group-commit'
import type { Broker } from '@tributary/broker/broker'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { openGeo } from '@tributary/geo/open-geo'
import { ingestGateway } from '@tributary/ingest-gateway/app'
import type { GatewayDeps } from '@tributary/ingest-gateway/deps'
import type { KeyValue } from '@tributary/key-value/key-value'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { shedStartMemory } from '@tributary/service-kit/service/shed-start-memory'
import { readSettings } from '@tributary/service-kit/settings/read-settings'
import { openTraces, traceSettings } from '@tributary/service-kit/traces/open-traces'
import { traceBroker } from '@tributary/service-kit/traces/trace-log'
import type { Credentials } from '@tributary/tenancy/credentials/credentials'
import { memoryCredentials, noSchemas, type Tenant } from '@tributary/testing/builders'
import type { EngineName } from '@tributary/testing/engines/engine'
import { memoryCosts } from '@tributary/testing/twins/memory-costs'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { watchAllocated } from '../process/allocated.ts'
import { listen, nextMessage, report, watchCpu } from '../process/driven-process.ts'
import { watchMemory } from '../process/peak-memory.ts'
import { ownMegabytes } from '../process/process-cost.ts'
import { startCount } from './count-logged.ts'
import { timed } from './timed.ts'

/**
 * The first message to the gateway process. `engines` are addresses: without Kafka the log is the embedded one, without S3 audit is
 * a folder, without Redis counters are embedded, and without PostgreSQL the keys of `tenants` are in memory.
 */
export interface GatewayOrder {
  data_dir: string
  engines?: Partial<Record<EngineName, string>>
  tenants?: Tenant[]
  /** The key that encrypts the secrets in PostgreSQL. */
  master_key?: string
  in_flight?: GatewayDeps['in_flight']
  /** Counts what is allocated under the paced load, which slows it down. */
  allocations?: boolean
  /** Settings of traces. */
  traced?: Record<string, string>
}

const topic = { ...topics.eventsAccepted, partitions: 4 }
const logger = pino({ level: 'info' })
const registry = new Registry()

// Each engine is loaded when it is used, as in a service: what is loaded is memory.
const openLog = async (order: GatewayOrder): Promise<Broker> => {
  const log = await (order.engines?.kafka === undefined ? embeddedLog(order.data_dir) : kafkaLog(order.engines.kafka))
  await log.applyTopics([topic])
  return log
}

async function embeddedLog(data_dir: string): Promise<Broker> {
  const { openEmbeddedBroker } = await import('@tributary/broker/embedded')
  return openEmbeddedBroker({ dir: join(data_dir, 'log'), now: Date.now, partitions: topic.partitions })
}

async function kafkaLog(kafka: string): Promise<Broker> {
  const { openKafkaBroker } = await import('@tributary/broker/kafka')
  return openKafkaBroker({
    ...{ brokers: [kafka], client_id: 'bench', logger, registry },
    ...{ linger_ms: 5, send_bytes_max: 1_000_000, buffer_bytes_max: 64 * 1024 * 1024 }, // the settings' defaults
  })
}

async function openAudit({ data_dir, engines: { s3 } = {} }: GatewayOrder): Promise<AuditStore> {
  if (s3 === undefined) {
    const { openFolderAuditStore } = await import('@tributary/audit-store/folder')
    return openFolderAuditStore({ dir: join(data_dir, 'audit') })
  }
  const { openS3AuditStore } = await import('@tributary/audit-store/s3')
  const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench' }
  return openS3AuditStore({ bucket: 'tributary', region: 'us-east-1', endpoint: s3, credentials })
}

async function openKeyValue({ data_dir, engines: { redis } = {} }: GatewayOrder): Promise<KeyValue> {
  if (redis === undefined) {
    const { openEmbeddedKeyValue } = await import('@tributary/key-value/embedded')
    return openEmbeddedKeyValue({ dir: join(data_dir, 'key-value'), now: Date.now })
  }
  const { openRedisKeyValue } = await import('@tributary/key-value/redis')
  return openRedisKeyValue({ url: redis, logger })
}

async function storedKeys(url: string, master_key: string): Promise<Credentials> {
  const { openPostgres } = await import('@tributary/postgres/postgres')
  const { openCredentials } = await import('@tributary/tenancy/credentials/credentials-cache')
  const { openMasterKeys, readMasterKey } = await import('@tributary/tenancy/secrets/master-keys')
  const pool = openPostgres({ url, pool_max: 2, statement_timeout_ms: 10_000, connect_timeout_ms: 10_000 })
  const masterKeys = openMasterKeys([readMasterKey(master_key)])
  const credentials = await openCredentials({ pool, masterKeys, now: Date.now, logger, registry })
  return { ...credentials, close: () => credentials.close().then(() => pool.end()) }
}

async function openKeys({ tenants = [], master_key = '', engines = {} }: GatewayOrder): Promise<Credentials> {
  if (engines.postgres !== undefined) return storedKeys(engines.postgres, master_key)
  // A map looks a key up as fast as the product does; `memoryCredentials` goes through all tenants.
  const keys = new Map(tenants.map(({ server_key, key }) => [hash('sha256', server_key), key]))
  return {
    ...memoryCredentials(tenants),
    findServerKey: async (server_key: string) => keys.get(hash('sha256', server_key)) ?? null,
  }
}

async function serve(order: GatewayOrder, broker: Broker, audit: AuditStore) {
  const groupCommit = createGroupCommit({
    store: audit,
    now: Date.now,
    linger_ms: limits.audit_group_linger_ms,
    bytes_max: limits.audit_group_bytes_max,
    gateway: 'bench',
  })
  const closeTraces: (() => Promise<void>)[] = []
  const traces = await openTraces(readSettings(order.traced ?? {}, traceSettings), {
    ...{ name: 'bench', logger, registry },
    onClose: (_what, closeOne) => closeTraces.push(closeOne),
  })
  const app = createHttpApp({ logger, traces })
  const credentials = await openKeys(order)
  const keyValue = await openKeyValue(order)
  const { in_flight } = order
  const { partitions } = topic
  await app.register(
    ingestGateway({
      ...{ credentials, keyValue, audit, groupCommit, partitions, registry, logger },
      broker: traceBroker(broker, traces),
      liveSchemas: noSchemas,
      costs: memoryCosts(),
      geo: await openGeo(),
      now: Date.now,
      gateway_id: 'bench',
      ...(in_flight === undefined ? {} : { in_flight }),
    }),
  )
  await listen(app)
  return async () => {
    await app.close()
    await groupCommit.close()
    await Promise.all([keyValue.close(), credentials.close(), ...closeTraces.map((closeOne) => closeOne())])
  }
}

// The bench is over when its parent is gone, whatever the state.
process.once('disconnect', () => process.exit())
const order = (await nextMessage()) as GatewayOrder
const broker = await openLog(order)
const audit = await openAudit(order)
const puts = timed(audit.putOnce)
const publishes = timed(broker.publish)
const countSince = await startCount(broker, topic.name)
const close = await serve(order, { ...broker, publish: publishes.call }, { ...audit, putOnce: puts.call })
shedStartMemory()
await nextMessage() // warm
const cpuSeconds = watchCpu()
const peakMegabytes = watchMemory() // under load: that of the start is given back before
await nextMessage() // the load is over
// The program's own pages, some 60 MB, are part of the peak; every process of Node on the machine shares them.
report({ cpu_seconds: cpuSeconds(), rss_mb: peakMegabytes(), steps: { own_mb: ownMegabytes(process.pid) } })
for (const { restart } of [puts, publishes]) restart()
const allocatedBytes = order.allocations ? await watchAllocated() : null // of the paced load, whose CPU is not reported
await nextMessage() // everything was sent
const engines = { ...puts.percentiles('put'), ...publishes.percentiles('publish') }
if (allocatedBytes !== null) Object.assign(engines, { allocated_bytes: await allocatedBytes() })
report({ logged: await countSince(), steps: engines })
await nextMessage()
await close()
await broker.close()
await audit.close()
process.disconnect()
