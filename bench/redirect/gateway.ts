import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Broker } from '@tributary/broker/broker'
import { topics } from '@tributary/contracts/topics'
import { openGeo } from '@tributary/geo/open-geo'
import type { KeyValue } from '@tributary/key-value/key-value'
import { linkGateway } from '@tributary/link-gateway/app'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import type { TrackingLink } from '@tributary/tenancy/attribution/links'
import Fastify, { type FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { runDriven } from '../process/driven-process.ts'
import { openSyncedFile } from '../process/synced-file.ts'

/**
 * The first message to the process. Without engines the gateway is all embedded; `bare` is a redirect by fastify alone, and
 * `synced` one that has a line of a file on the disk first.
 */
export interface RedirectOrder {
  data_dir: string
  link_id: string
  server: 'bare' | 'synced' | 'gateway'
  kafka?: string
  redis?: string
}

const topic = { ...topics.clicksRecorded, partitions: 4 }
const logger = pino({ level: 'error' })
const registry = new Registry()

/** Links as their cache gives them: a look-up in a Map. */
function openLinks(link_id: string) {
  const link: TrackingLink = {
    ...{ link_id, company_id: 'bench', app_id: 'bench', enabled: true, company_status: 'active', partner: 'net' },
    ...{ campaign: 'summer', ad_group: null, creative: null, fallback_url: null, deep_link: null, countries: null },
    ...{ lookback_hours: null, honeypot: false, platform: 'android', bundle_id: 'com.example.game', store_id: null },
    ...{ provider_token: null, link_secret: randomBytes(32), salt: randomBytes(32) },
  }
  const links = new Map([[link_id, link]])
  return {
    find: async (id: string) => links.get(id) ?? null,
    recall: (id: string) => (links.has(id) ? ('known' as const) : ('unasked' as const)),
  }
}

// Each engine is loaded when it is used, as in a service: what is loaded is memory.
async function openLog({ data_dir, kafka }: RedirectOrder): Promise<Broker> {
  if (kafka === undefined) {
    const { openEmbeddedBroker } = await import('@tributary/broker/embedded')
    return openEmbeddedBroker({ dir: join(data_dir, 'log'), now: Date.now, partitions: topic.partitions })
  }
  const { openKafkaBroker } = await import('@tributary/broker/kafka')
  return openKafkaBroker({
    ...{ brokers: [kafka], client_id: 'bench', logger, registry },
    ...{ linger_ms: 5, send_bytes_max: 1_000_000, buffer_bytes_max: 64 * 1024 * 1024 }, // the settings' defaults
  })
}

async function openKeyValue({ data_dir, redis }: RedirectOrder): Promise<KeyValue> {
  if (redis === undefined) {
    const { openEmbeddedKeyValue } = await import('@tributary/key-value/embedded')
    return openEmbeddedKeyValue({ dir: join(data_dir, 'key-value'), now: Date.now })
  }
  const { openRedisKeyValue } = await import('@tributary/key-value/redis')
  return openRedisKeyValue({ url: redis, logger })
}

async function openGateway(order: RedirectOrder) {
  const broker = await openLog(order)
  await broker.applyTopics([topic])
  const keyValue = await openKeyValue(order)
  const app = createHttpApp({ logger, trusted_proxies: ['127.0.0.1'] })
  await app.register(
    linkGateway({
      ...{ broker, keyValue, registry, logger, partitions: topic.partitions, gateway_id: 'bench', now: Date.now },
      geo: await openGeo(),
      links: openLinks(order.link_id),
    }),
  )
  const ends = () => broker.groupOffsets('bench', topic.name)
  const before = sumOf(await ends())
  return {
    app,
    count: async () => sumOf(await ends()) - before,
    close: () => Promise.all([broker.close(), keyValue.close()]),
  }
}

const sumOf = (offsets: readonly { end: number }[]): number => offsets.reduce((sum, { end }) => sum + end, 0)

async function openBare({ data_dir, server }: RedirectOrder) {
  const file = server === 'synced' ? await openSyncedFile(join(data_dir, 'clicks')) : null
  const app = Fastify()
  app.get('/l/:link_id', async ({ url }, reply) => {
    await file?.append(`${url}\n`)
    return reply.redirect('https://play.google.com/store/apps/details?id=a', 302)
  })
  return { app: app as unknown as FastifyInstance, count: async () => 0, close: async () => file?.close() }
}

if (import.meta.main) {
  await runDriven((order: RedirectOrder) => (order.server === 'gateway' ? openGateway(order) : openBare(order)))
}
