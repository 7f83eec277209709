import { purchasePartition } from '@tributary/broker/partition'
import { CodedError, retrySoon } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { Store } from '@tributary/contracts/receipt/receipt'
import type { StoreNotified } from '@tributary/contracts/receipt/store-notified'
import { topics } from '@tributary/contracts/topics'
import { originalIdOf } from '@tributary/domain/receipt/notified-event'
import { makeDurable } from '@tributary/gateway/durable'
import { noteSender } from '@tributary/gateway/observe-requests'
import { wireBody } from '@tributary/gateway/read-wire'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import type { CountersBreaker } from '@tributary/tenancy/quota/counters-breaker'
import type { NotifiedApp } from '@tributary/tenancy/stores/notified-apps'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Counter } from 'prom-client'
import type { PostbackGatewayDeps } from '../deps.ts'
import { createSpendPostback } from '../spend-postback.ts'
import { notificationRoutes } from './notification-routes.ts'
import { type Proven, proveApple, proveGoogle, type Unproven } from './prove.ts'
import { readPush, readSignedPayload } from './read-notification.ts'

interface OfApp {
  Params: { app_key: string }
}
type AppRequest = FastifyRequest<OfApp>
type Prove = (app: NotifiedApp) => Promise<Proven | Unproven>

/** The doors of both stores. 200 means that the audit store and the log both hold the notification. */
export function receiveNotifications(app: FastifyInstance, deps: PostbackGatewayDeps, counters: CountersBreaker): void {
  const { notifiedApps, storeProofs, public_url } = deps
  // Steps of docs/receipts.md#what-a-door-checks: 1. rate of the address, 2. size (bodyLimit).
  const options = { onRequest: createSpendPostback(deps, counters), bodyLimit: limits.store_notification_bytes_max }
  const store = createStore(deps)
  const count = countNotifications(deps)

  const receive = (name: Store, read: (request: AppRequest, body: Buffer) => Prove) => async (request: AppRequest) => {
    const { wire } = wireBody(request)
    const prove = read(request, wire) // 3.
    const found = await notifiedApps.find(request.params.app_key) // 4.
    if (found === null) throw new CodedError('not_found')
    const proven = await prove(found) // 5.
    if ('fault' in proven) {
      count(name, proven.fault === 'keys_away' ? 'keys_away' : 'refused')
      throw refusal(proven, found, name, deps)
    }
    noteSender(request, found, { proven: true })
    await store(name, found, proven, wire, request) // 6. and 7.
    count(name, 'stored')
    return { ok: true }
  }

  const { appleNotifies, googleNotifies } = notificationRoutes
  app.post<OfApp>(
    appleNotifies.path,
    options,
    receive('apple', (_request, body) => {
      const payload = readSignedPayload(body)
      return async (found) => proveApple(await storeProofs.apple(), payload, found)
    }),
  )
  app.post<OfApp>(
    googleNotifies.path,
    options,
    receive('google', (request, body) => {
      const push = readPush(body)
      const { authorization, host = '' } = request.headers
      const addresses = addressesOf(googleNotifies.path, request.params.app_key, public_url, host)
      return async (found) => proveGoogle(await storeProofs.google(), push, { authorization, addresses }, found)
    }),
  )
}

/** Where this request may have been sent: below `TRIBUTARY_PUBLIC_URL`, else to the host that it names. TLS ends before this process. */
function addressesOf(path: string, app_key: string, public_url: string | undefined, host: string): string[] {
  const bases = public_url === undefined ? [`https://${host}`, `http://${host}`] : [public_url.replace(/\/+$/, '')]
  return bases.map((base) => `${base}${path.replace(':app_key', app_key)}`)
}

/** The answer does not say what is wrong, the log does: whoever sets a store up reads it. */
function refusal({ fault }: Unproven, app: NotifiedApp, store: Store, { logger }: PostbackGatewayDeps): CodedError {
  const { app_id, company_id } = app
  logger.info({ app_id, company_id, store, reason: fault }, 'a notification of a store was refused')
  if (fault === 'keys_away')
    return new CodedError('unavailable', { message: 'The keys of Google are away.', headers: retrySoon })
  return new CodedError('bad_token', { message: 'Nothing proves that the store sent this about this app.' })
}

/** Makes the function that puts a notification into the audit store, and then on the log. */
const createStore =
  ({ broker, notificationGroups, now, notification_partitions }: PostbackGatewayDeps) =>
  async (store: Store, app: NotifiedApp, proven: Proven, wire: Buffer, request: FastifyRequest): Promise<void> => {
    const { app_id, company_id } = app
    const received_at_ms = now()
    const line = JSON.stringify({ store, received_at_ms, body: wire.toString('utf8') })
    const { audit_key, durable } = notificationGroups.append({
      ...{ owner: `${company_id}/${app_id}`, received_at_ms, member: Buffer.from(`${line}\n`) },
    })
    request.ingest.audit_key = audit_key
    await makeDurable(broker, durable, () => {
      const notified: StoreNotified = { v: 1, app_id, company_id, store, received_at_ms, audit_key, ...proven }
      const original_id = originalIdOf(proven) ?? proven.notification_id
      const partition = purchasePartition(app_id, original_id, notification_partitions)
      const value = Buffer.from(JSON.stringify(notified))
      return [{ topic: topics.storesNotified.name, partition, key: `${app_id}/${original_id}`, value }]
    })
  }

function countNotifications({ registry }: PostbackGatewayDeps) {
  const notifications = sharedMetric(registry, Counter, {
    name: 'tributary_store_notifications_total',
    help: 'Notifications of stores that name a known app: stored, refused as not proven, or sent while the keys of Google were away.',
    labelNames: ['store', 'outcome'],
  })
  return (store: Store, outcome: 'stored' | 'refused' | 'keys_away') => notifications.inc({ store, outcome })
}
