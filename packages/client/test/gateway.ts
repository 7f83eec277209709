import { decodeEnvelope } from '@tributary/contracts/decode-envelope'
import type { Envelope } from '@tributary/contracts/envelope'
import { topics } from '@tributary/contracts/topics'
import { ingestGateway } from '@tributary/ingest-gateway/app'
import { reportApi } from '@tributary/report-api/app'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { buildTenant, memoryCredentials, noSchemas } from '@tributary/testing/builders'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryCosts } from '@tributary/testing/twins/memory-costs'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { noGeo } from '@tributary/testing/twins/no-geo'
import { noPostbacks } from '@tributary/testing/twins/postback-apps'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { onTestFinished } from 'vitest'

const partitions = 2

/** The real ingest gateway on a port of this machine, over stores in memory; closed after the test. */
export async function startGateway(allowed_events: readonly string[] = [], now = Date.now) {
  const tenant = buildTenant('android', allowed_events)
  const audit = memoryAuditStore()
  const broker = memoryBroker(partitions, now)
  const logger = pino({ level: 'silent' })
  const app = createHttpApp({ logger })
  await app.register(
    ingestGateway({
      credentials: memoryCredentials([tenant]),
      liveSchemas: noSchemas,
      audit,
      groupCommit: {
        append: ({ member }) => {
          const audit_key = `audit/${crypto.randomUUID()}.jsonl.gz`
          return { audit_key, durable: audit.putOnce(audit_key, member).then(() => {}) }
        },
      },
      broker,
      costs: memoryCosts(),
      geo: noGeo,
      keyValue: memoryKeyValue(now),
      partitions,
      now,
      registry: new Registry(),
      logger,
      gateway_id: 'test',
    }),
  )
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => app.close())
  const envelopes = (): Envelope[] =>
    Array.from({ length: partitions }, (_, n) => broker.records(topics.eventsAccepted.name, n))
      .flat()
      .map(({ value }) => decodeEnvelope(value))
  const { app_key, company_key, server_key } = tenant
  return {
    sdk: { url, app_key, company_key, signing_secret: tenant.app.signing_secret },
    server: { url, server_key },
    tenant,
    broker,
    envelopes,
    /** The events that the log holds. */
    events: () => envelopes().flatMap((envelope) => envelope.events as Record<string, unknown>[]),
  }
}

/** The real report API on a port of this machine, over an app without events; closed after the test. */
export async function startReportApi() {
  const tenant = buildTenant()
  const logger = pino({ level: 'silent' })
  const app = createHttpApp({ logger })
  await app.register(
    reportApi({
      fxRates: { find: async () => () => null },
      ...noPostbacks(),
      clickhouse: { query: async () => [] },
      credentials: memoryCredentials([tenant]),
      keyValue: memoryKeyValue(Date.now),
      now: Date.now,
      registry: new Registry(),
      logger,
    }),
  )
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => app.close())
  return { url, server_key: tenant.server_key }
}
