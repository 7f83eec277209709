import { ingestGateway } from '@tributary/ingest-gateway/app'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { toLiveSchema } from '@tributary/tenancy/postbacks/cv-schemas-cache'
import { memoryCredentials, type Tenant } from '@tributary/testing/builders'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryCosts } from '@tributary/testing/twins/memory-costs'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { noGeo } from '@tributary/testing/twins/no-geo'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { listen, nextMessage, report, watchCpu } from '../process/driven-process.ts'

/** The first message to the process: the app that reads its schema, and the number of its fine values. */
export interface SchemaOrder {
  tenant: Tenant
  values: number
}

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
  // The bench is over when its parent is gone, whatever the state.
  process.once('disconnect', () => process.exit())
  const order = (await nextMessage()) as SchemaOrder
  const logger = pino({ level: 'error' })
  const app = createHttpApp({ logger })
  await app.register(
    ingestGateway({
      ...{ credentials: memoryCredentials([order.tenant]), liveSchemas: liveSchemas(order) },
      ...{
        audit: memoryAuditStore(),
        broker: memoryBroker(1, Date.now),
        costs: memoryCosts(),
        geo: noGeo,
        keyValue: memoryKeyValue(Date.now),
      },
      groupCommit: { append: () => Promise.reject(new Error('nothing is stored here')) as never },
      ...{ partitions: 1, now: Date.now, registry: new Registry(), logger, gateway_id: 'bench' },
    }),
  )
  await listen(app)
  while ((await nextMessage()) !== 'end') {
    const cpuSeconds = watchCpu()
    await nextMessage() // the load is over
    report({ cpu_seconds: cpuSeconds() })
  }
  await app.close()
  process.disconnect()
}

if (import.meta.main) await main()
