import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { limits } from '@tributary/contracts/limits'
import { ingestGateway } from '@tributary/ingest-gateway/app'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { toLiveSchema } from '@tributary/tenancy/postbacks/cv-schemas-cache'
import { memoryCredentials, type Tenant } from '@tributary/testing/builders'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { pino } from 'pino'
import { Registry } from 'prom-client'

/** The first message to the process: the app that asks, and the length of its list of fine values. */
export interface SchemaOrder {
  tenant: Tenant
  values: number
}

/** The messages of the process: its port, then the CPU of each load. */
export interface SchemaReport {
  port?: number
  cpu_seconds?: number
}

const say = (report: SchemaReport) => process.send?.(report)
const told = async () => ((await once(process, 'message')) as [unknown])[0]

/** A schema as its cache gives it: made once, found in a Map. */
function liveSchemas({ tenant, values }: SchemaOrder) {
  const { app_id, company_id } = tenant.app
  const fine = Array.from({ length: values }, (_, value) => ({
    ...{ value, name: `level ${value}`, event_name: 'level_up' },
    ...{ revenue_min_usd: value, revenue_max_usd: value + 1 },
  }))
  const postbacks = [
    { postback_sequence_index: 0 as const, window_hours: 48 as const, lock_window: false, fine, coarse: [] },
  ]
  const all = new Map([[app_id, toLiveSchema({ app_id, company_id, version: 1, postbacks })]])
  return { find: async (id: string) => all.get(id) ?? null }
}

/** The process under test: it is driven step by step over IPC. */
async function main(): Promise<void> {
  // Without its parent the bench is over, whatever the state.
  process.once('disconnect', () => process.exit())
  const order = (await told()) as SchemaOrder
  const logger = pino({ level: 'error' })
  const app = createHttpApp({ logger })
  await app.register(
    ingestGateway({
      ...{ credentials: memoryCredentials([order.tenant]), liveSchemas: liveSchemas(order) },
      ...{ audit: memoryAuditStore(), broker: memoryBroker(1, Date.now), keyValue: memoryKeyValue(Date.now) },
      groupCommit: { append: () => Promise.reject(new Error('nothing is stored here')) as never },
      ...{ partitions: 1, now: Date.now, registry: new Registry(), logger, gateway_id: 'bench' },
    }),
  )
  await app.listen({ port: 0, host: '127.0.0.1', backlog: limits.connections_waiting_max })
  say({ port: (app.server.address() as AddressInfo).port })
  while ((await told()) !== 'end') {
    const before = process.cpuUsage()
    await told() // the load is over
    const { user, system } = process.cpuUsage(before)
    say({ cpu_seconds: (user + system) / 1e6 })
  }
  await app.close()
  process.disconnect()
}

if (import.meta.main) await main()
