import { gunzipSync } from 'node:zlib'
import { decodeEnvelope } from '@tributary/contracts/decode-envelope'
import type { Envelope } from '@tributary/contracts/envelope'
import { topics } from '@tributary/contracts/topics'
import { openGeo } from '@tributary/geo/open-geo'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { buildTenant, memoryCredentials, noSchemas, signedHeaders, type Tenant } from '@tributary/testing/builders'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryCosts } from '@tributary/testing/twins/memory-costs'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { type Logger, pino } from 'pino'
import { Registry } from 'prom-client'
import { ingestGateway } from '../src/app.ts'
import type { GatewayDeps } from '../src/deps.ts'

const partitions = 4

function siblingOf({ company, company_key }: Tenant): Tenant {
  const { company_id } = company
  const own = buildTenant('android')
  return { ...own, company, company_key, app: { ...own.app, company_id }, key: { ...own.key, company_id } }
}

/** The packaged tables. */
const geo = await openGeo()

/** A gateway over stores in memory, with what a test does to them: two tenants and a second app, a clock, a log that may fail. */
export async function openGateway(
  options: Partial<Pick<GatewayDeps, 'disk' | 'groupCommit' | 'in_flight'>> = {},
  http: { trusted_proxies?: readonly string[] } = {},
) {
  const now_ms = Date.UTC(2026, 5, 1, 12)
  let passed_ms = 0
  const tenant = buildTenant('android')
  const other = buildTenant('ios')
  const sibling = siblingOf(tenant)
  const audit = memoryAuditStore()
  const broker = memoryBroker(partitions, () => now_ms)
  const costs = memoryCosts()
  const keyValue = memoryKeyValue(() => now_ms)
  /** `until`: when set, what the log waits for before it takes anything. */
  const log = { fault: null as Error | null, until: null as Promise<void> | null, audit_objects_before: 0 }
  const logLines: string[] = []
  const logger: Logger = pino({ level: 'debug' }, { write: (line: string) => void logLines.push(line) })
  const registry = new Registry()
  let objects = 0
  const app = createHttpApp({ logger, ...http })
  await app.register(
    ingestGateway({
      credentials: memoryCredentials([tenant, sibling, other]),
      liveSchemas: noSchemas,
      audit,
      // one object for each request, so that a test sees what was written for it
      groupCommit: {
        append: ({ owner, member }) => {
          const audit_key = `audit/2026/06/01/${owner}/${now_ms}-test-${objects++}.jsonl.gz`
          return { audit_key, durable: audit.putOnce(audit_key, member).then(() => {}) }
        },
      },
      broker: {
        async publish(records) {
          log.audit_objects_before = audit.objects.size
          if (log.fault) throw log.fault
          await log.until
          await broker.publish(records)
        },
      },
      costs,
      geo,
      keyValue,
      partitions,
      now: () => now_ms + passed_ms,
      elapsed: () => passed_ms,
      registry,
      logger,
      gateway_id: 'test',
      ...options,
    }),
  )
  const recordsOf = (topic: string) =>
    Array.from({ length: partitions }, (_, partition) =>
      broker.records(topic, partition).map((record) => ({ ...record, partition })),
    ).flat()
  const records = () => recordsOf(topics.eventsAccepted.name)
  const call = (url: string, headers: Record<string, string>, body: Buffer | string | undefined) =>
    app.inject({ method: 'POST', url, headers, payload: body })

  return {
    app,
    audit,
    costs,
    keyValue,
    log,
    logLines,
    now_ms,
    other,
    registry,
    /** Another app of the tenant's company. */
    sibling,
    tenant,
    /** What the log holds, parsed. */
    envelopes: (): Envelope[] => records().map(({ value }) => decodeEnvelope(value)),
    records,
    recordsOf,
    /** Moves the clock of the gateway on from `now_ms`. */
    pass: (ms: number) => {
      passed_ms += ms
    },
    /** The lines of all `.jsonl.gz` audit objects. */
    auditLines: (): string[] =>
      [...audit.objects]
        .filter(([key]) => key.endsWith('.jsonl.gz'))
        .flatMap(([, member]) => gunzipSync(member).toString().trimEnd().split('\n')),
    /** A correctly signed `/event` request. */
    event: (body: Buffer | string, headers: Record<string, string> = {}, as = tenant) =>
      call('/event', { ...signedHeaders(as, body), ...headers }, body),
    /** A JSON request to an S2S route with the tenant's key. */
    s2s: (url: string, body: unknown, headers: Record<string, string> = {}, as = tenant) =>
      call(
        url,
        { authorization: `Bearer ${as.server_key}`, ...headers },
        Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body),
      ),
    call,
  }
}
export type Gateway = Awaited<ReturnType<typeof openGateway>>
