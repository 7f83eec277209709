import { randomBytes } from 'node:crypto'
import type { AuditStore } from '@tributary/audit-store/audit-store'
import { createGroupCommit } from '@tributary/audit-store/group-commit'
import type { Broker } from '@tributary/broker/broker'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import type { KeyValue } from '@tributary/key-value/key-value'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { createHealth } from '@tributary/service-kit/service/health'
import type { Credentials } from '@tributary/tenancy/credentials/credentials'
import type { LiveSchemas } from '@tributary/tenancy/postbacks/cv-schemas'
import {
  buildTenant,
  memoryCredentials,
  noSchemas,
  sdkEvent,
  signedHeaders,
  type Tenant,
} from '@tributary/testing/builders'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryCosts } from '@tributary/testing/twins/memory-costs'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { noGeo } from '@tributary/testing/twins/no-geo'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { ingestGateway } from '../src/app.ts'

export const patience = { timeout: 180_000, interval: 50 }

interface Given {
  audit?: AuditStore
  broker?: Broker
  credentials?: Credentials
  liveSchemas?: LiveSchemas
  keyValue?: KeyValue
  now?: () => number
  partitions?: number
  /** Of `/health`. */
  checks?: Record<string, () => Promise<void>>
}

export type Credential = Pick<Tenant, 'company_key' | 'app_key' | 'server_key'> & {
  app: Pick<Tenant['app'], 'signing_secret'>
}

/** A gateway and its `/health` over real engines, and over stores in memory for what is not given. */
export async function openGatewayOver(given: Given) {
  const { now = Date.now, partitions = 2, checks = {} } = given
  const tenant = buildTenant('android')
  const memoryLog = memoryBroker(partitions, now)
  const audit = given.audit ?? memoryAuditStore()
  const logger = pino({ level: 'silent' })
  const registry = new Registry()
  const app = createHttpApp({ logger })
  createHealth({ checks, now: () => performance.now(), registry }).routes(app)
  const groupCommit = createGroupCommit({
    store: audit,
    now,
    linger_ms: limits.audit_group_linger_ms,
    bytes_max: limits.audit_group_bytes_max,
    gateway: randomBytes(4).toString('hex'),
  })
  await app.register(
    ingestGateway({
      credentials: given.credentials ?? memoryCredentials([tenant]),
      liveSchemas: given.liveSchemas ?? noSchemas,
      audit,
      groupCommit,
      broker: given.broker ?? memoryLog,
      costs: memoryCosts(),
      geo: noGeo,
      keyValue: given.keyValue ?? memoryKeyValue(now),
      partitions,
      now,
      registry,
      logger,
      gateway_id: 'test',
    }),
  )

  async function post(url: string, headers: Record<string, string>, body: Buffer | string) {
    const answer = await app.inject({ method: 'POST', url, headers, payload: body })
    return { status: answer.statusCode, headers: answer.headers, body: answer.json() }
  }
  const bearer = (as: Credential) => ({ authorization: `Bearer ${as.server_key}` })
  const event = (body: Buffer | string, headers: Record<string, string> = {}, as: Credential = tenant) =>
    post('/event', { ...signedHeaders(as as Tenant, body), ...headers }, body)
  const single = (body: unknown, as: Credential = tenant) => post('/s2s/event', bearer(as), JSON.stringify(body))
  const bulk = (body: Buffer | string, as: Credential = tenant) => post('/s2s/events/bulk', bearer(as), body)

  return {
    tenant,
    post,
    get: (url: string, headers: Record<string, string>) => app.inject({ method: 'GET', url, headers }),
    event,
    single,
    bulk,
    /** One request of one fresh event on each of the three routes; the answers in their order. */
    everyRoute(as: Credential = tenant) {
      const batch = () => JSON.stringify({ events: [sdkEvent()], sent_at_ms: now() })
      return Promise.all([event(batch(), {}, as), single(sdkEvent(), as), bulk(batch(), as)])
    },
    /** What the log in memory holds. */
    records: () =>
      Array.from({ length: partitions }, (_, n) => memoryLog.records(topics.eventsAccepted.name, n)).flat(),
    /** Status of a binding on `/health`, which itself always answers 200. */
    async health(binding: string): Promise<string> {
      const answer = await app.inject('/health')
      if (answer.statusCode !== 200) throw new Error(`/health answered ${answer.statusCode}`)
      return answer.json().bindings[binding].status
    },
    async close() {
      await app.close()
      await groupCommit.close()
    },
  }
}

/** What an answer says at first sight. */
export const gist = ({ status, body, headers }: { status: number; body: { error?: string }; headers: object }) => ({
  status,
  error: body.error,
  again: 'retry-after' in headers,
})
