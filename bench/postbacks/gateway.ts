import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { openFolderAuditStore } from '@tributary/audit-store/folder'
import { createGroupCommit } from '@tributary/audit-store/group-commit'
import { openEmbeddedBroker } from '@tributary/broker/embedded'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { openEmbeddedKeyValue } from '@tributary/key-value/embedded'
import { postbackGateway } from '@tributary/postback-gateway/app'
import { auditFolder } from '@tributary/postback-gateway/audit-folder'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { shedStartMemory } from '@tributary/service-kit/service/shed-start-memory'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { watchMemory } from '../process/peak-memory.ts'

/** The messages of the process, in this order: its port, the cost of the load, the records in its log. */
export interface PostbackReport {
  port?: number
  cpu_seconds?: number
  rss_mb?: number
  logged?: number
}

const topic = { ...topics.postbacksReceived, partitions: 4 }
const logger = pino({ level: 'error' })
const registry = new Registry()
const say = (report: PostbackReport) => process.send?.(report)
const told = async () => ((await once(process, 'message')) as [unknown])[0]

async function openGateway(data_dir: string) {
  const now = Date.now
  const broker = await openEmbeddedBroker({ dir: join(data_dir, 'log'), now, partitions: topic.partitions })
  await broker.applyTopics([topic])
  const keyValue = await openEmbeddedKeyValue({ dir: join(data_dir, 'key-value'), now })
  const audit = await openFolderAuditStore({ dir: join(data_dir, 'audit') })
  const groupCommit = createGroupCommit({
    ...{ store: audit, now, gateway: 'bench', folderOf: auditFolder },
    linger_ms: limits.audit_group_linger_ms,
    bytes_max: limits.audit_group_bytes_max,
  })
  const app = createHttpApp({ logger, trusted_proxies: ['127.0.0.1'] })
  await app.register(
    postbackGateway({
      ...{ broker, keyValue, groupCommit, registry, logger, now },
      ...{ partitions: topic.partitions, gateway_id: 'bench' },
    }),
  )
  return {
    app,
    count: async () => (await broker.groupOffsets('bench', topic.name)).reduce((sum, { end }) => sum + end, 0),
    async close() {
      await app.close()
      await groupCommit.close()
      await Promise.all([broker.close(), keyValue.close(), audit.close()])
    },
  }
}

/** The process under test: it is driven step by step over IPC. */
async function main(): Promise<void> {
  // Without its parent the bench is over, whatever the state.
  process.once('disconnect', () => process.exit())
  const { app, count, close } = await openGateway((await told()) as string)
  await app.listen({ port: 0, host: '127.0.0.1', backlog: limits.connections_waiting_max })
  say({ port: (app.server.address() as AddressInfo).port })
  await told() // warm
  shedStartMemory()
  const before = process.cpuUsage()
  const peakMegabytes = watchMemory()
  await told() // the load is over
  const { user, system } = process.cpuUsage(before)
  say({ cpu_seconds: (user + system) / 1e6, rss_mb: peakMegabytes() })
  await told() // everything was sent
  say({ logged: await count() })
  await told()
  await close()
  process.disconnect()
}

if (import.meta.main) await main()
