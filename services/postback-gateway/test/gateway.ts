import { gunzipSync } from 'node:zlib'
import { createGroupCommit } from '@tributary/audit-store/group-commit'
import { PostbackReceived } from '@tributary/contracts/postback/received'
import { StoreNotified } from '@tributary/contracts/receipt/store-notified'
import { type Topic, topics } from '@tributary/contracts/topics'
import type { KeyValue } from '@tributary/key-value/key-value'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { createAppleTwin } from '@tributary/testing/postback/apple-twin'
import { noNotifications } from '@tributary/testing/stores/no-notifications'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { type Logger, pino } from 'pino'
import { Registry } from 'prom-client'
import { onTestFinished } from 'vitest'
import { postbackGateway } from '../src/app.ts'
import { auditGroups, notificationGroups } from '../src/audit-groups.ts'
import type { PostbackGatewayDeps } from '../src/deps.ts'

const partitions = 4
/** Signs as Apple does, with keys of its own that the gateways know. */
export const apple = createAppleTwin()

export interface Clock {
  now_ms: number
}

interface Given {
  clock?: Clock
  keyValue?: KeyValue
  trusted_proxies?: readonly string[]
  /** What stores notify, and what proves it; no app when absent. */
  doors?: Pick<PostbackGatewayDeps, 'notifiedApps' | 'storeProofs'> & { public_url?: string | undefined }
}

interface Sent {
  path?: string
  ip?: string
  headers?: Record<string, string>
}

/** A gateway over stores in memory, with what a test does to them: a clock, an audit store and a log that may fail. */
export async function openGateway({
  clock = { now_ms: Date.UTC(2026, 5, 1, 12) },
  doors = noNotifications,
  ...given
}: Given = {}) {
  const now = () => clock.now_ms
  const audit = memoryAuditStore()
  const broker = memoryBroker(partitions, now)
  const memory = memoryKeyValue(now)
  /** `until`: what the log waits for before it takes anything. */
  const log = { fault: null as Error | null, until: null as Promise<void> | null }
  const logLines: string[] = []
  const logger: Logger = pino({ level: 'debug' }, { write: (line: string) => void logLines.push(line) })
  const registry = new Registry()
  const groupCommit = createGroupCommit({
    ...{ store: audit, now, gateway: 'test', ...auditGroups, linger_ms: 5 },
  })
  const ofNotifications = createGroupCommit({
    ...{ store: audit, now, gateway: 'test', ...notificationGroups, linger_ms: 5 },
  })
  const app = createHttpApp({ logger, trusted_proxies: given.trusted_proxies ?? [] })
  await app.register(
    postbackGateway({
      postbackKeys: { current: () => apple.keys },
      ...{ ...doors, notificationGroups: ofNotifications, notification_partitions: partitions },
      ...{ groupCommit, keyValue: given.keyValue ?? memory, partitions, now, registry, logger, gateway_id: 'test' },
      broker: {
        async publish(records) {
          await log.until
          if (log.fault) throw log.fault
          await broker.publish(records)
        },
      },
    }),
  )
  onTestFinished(async () => {
    await app.close()
    await Promise.all([groupCommit.close(), ofNotifications.close()])
  })
  const recordsOf = ({ name }: Topic) =>
    Array.from({ length: partitions }, (_, partition) => broker.records(name, partition)).flat()
  const records = () => recordsOf(topics.postbacksReceived)
  return {
    ...{ app, audit, clock, keyValue: memory, log, logLines, records, recordsOf, registry },
    notified: (): StoreNotified[] =>
      recordsOf(topics.storesNotified).map(({ value }) => StoreNotified.parse(JSON.parse(String(value)))),
    received: (): PostbackReceived[] => records().map(({ value }) => PostbackReceived.parse(JSON.parse(String(value)))),
    /** The lines of all audit objects, with their keys. */
    audited: () =>
      [...audit.objects].flatMap(([key, object]) =>
        gunzipSync(object)
          .toString()
          .trimEnd()
          .split('\n')
          .map((line) => ({ key, ...(JSON.parse(line) as object) })),
      ),
    async send(payload: string | Buffer, { path = '/skan-postback', ip = '192.0.2.1', headers = {} }: Sent = {}) {
      const answer = await app.inject({ method: 'POST', url: path, payload, headers, remoteAddress: ip })
      const { error } = answer.json()
      return { status: answer.statusCode, code: error ?? 'ok', headers: answer.headers, body: answer.body }
    },
    count: async (name: string) => (await registry.getSingleMetric(name)?.get())?.values ?? [],
  }
}

/** A SKAN postback that nobody signed. */
export const skanBody = (change: object = {}): string =>
  JSON.stringify({ version: '4.0', 'transaction-id': crypto.randomUUID(), 'app-id': 5_000_000_001, ...change })

/** A JWS of a payload that nobody signed. */
export const jwsOf = (payload: object | string): string => {
  const part = (value: object | string) =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'ES256', kid: 'test/0' })}.${part(payload)}.c2ln`
}
