import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { openFolderAuditStore } from '@tributary/audit-store/folder'
import { createGroupCommit } from '@tributary/audit-store/group-commit'
import type { Broker } from '@tributary/broker/broker'
import { openEmbeddedBroker } from '@tributary/broker/embedded'
import type { Envelope } from '@tributary/contracts/envelope'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { ingestGateway } from '@tributary/ingest-gateway/app'
import { createHttpApp } from '@tributary/service-kit/http'
import { memoryCredentials, type Tenant } from '@tributary/testkit/builders'
import { pino } from 'pino'
import { Registry } from 'prom-client'

/** What the gateway process says over IPC, in this order: its port, the cost of the load, the events in its log. */
export interface GatewayReport {
  port?: number
  cpu_seconds?: number
  rss_mb?: number
  logged?: number
}

// Without its parent the bench is over, whatever the state.
process.once('disconnect', () => process.exit())
const [{ data_dir, tenants }] = (await once(process, 'message')) as [{ data_dir: string; tenants: Tenant[] }]
const topic = topics.eventsAccepted
const say = (report: GatewayReport) => process.send?.(report)
const now = Date.now
const logger = pino({ level: 'info' })
const audit = await openFolderAuditStore({ dir: join(data_dir, 'audit') })
const broker = await openEmbeddedBroker({ dir: join(data_dir, 'log'), now, partitions: topic.partitions })
await broker.applyTopics([topic])
const groupCommit = createGroupCommit({
  store: audit,
  now,
  linger_ms: limits.audit_group_linger_ms,
  bytes_max: limits.audit_group_bytes_max,
  gateway: 'bench',
})
const app = createHttpApp({ logger })
const credentials = memoryCredentials(tenants)
const { partitions } = topic
const registry = new Registry()
await app.register(
  ingestGateway({ credentials, audit, groupCommit, broker, partitions, now, registry, logger, gateway_id: 'bench' }),
)
await app.listen({ port: 0, host: '127.0.0.1' })
say({ port: (app.server.address() as AddressInfo).port })

await once(process, 'message') // warm
const before = process.cpuUsage()
await once(process, 'message') // the load is over
const { user, system } = process.cpuUsage(before)
say({ cpu_seconds: (user + system) / 1e6, rss_mb: Math.round(process.resourceUsage().maxRSS / 1024) })

say({ logged: await countEvents(broker) })
await app.close()
await groupCommit.close()
await broker.close()
await audit.close()
if (process.connected) process.disconnect()

/** Reads the whole log as a consumer would. */
async function countEvents(log: Broker): Promise<number> {
  const offsets = await log.groupOffsets('bench', topic.name)
  const open = new Map(
    offsets.filter(({ end, earliest }) => end > earliest).map(({ partition, end }) => [partition, end]),
  )
  const done = Promise.withResolvers<void>()
  let events = 0
  if (open.size === 0) done.resolve()
  const consumption = await log.consume({
    ...{ group: 'bench', topic: topic.name, bytes_min: 1, bytes_max: 8 * 1024 * 1024, wait_ms_max: 100 },
    async onChunk({ partition, records }) {
      for (const { value } of records) events += (JSON.parse(value.toString()) as Envelope).events.length
      if (records.at(-1)!.offset + 1 >= (open.get(partition) ?? 0)) open.delete(partition)
      if (open.size === 0) done.resolve()
    },
  })
  await done.promise
  await consumption.close()
  return events
}
