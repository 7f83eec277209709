import { setTimeout as pause } from 'node:timers/promises'
import type { SentEvents } from '@tributary/testing/verify-events'
import { type Device, makeDevice } from './events.ts'
import { type Answer, bulkRequest, type FleetRequest, post, sdkRequest } from './requests.ts'
import type { FleetTenant } from './tenants.ts'

export interface LoadOptions {
  tenants: readonly FleetTenant[]
  /** Addresses of the gateways, used in rotation. */
  gateways: readonly string[]
  clients: number
  events_per_second: number
  /** The load ends after this many events. */
  events_max?: number
  /** False: each batch is sent once, and stays unanswered when the answer is not 200. */
  again?: boolean
  onAcknowledged?(request: FleetRequest): void
  onAnswer?(answer: Answer | null): void
}

export interface Load {
  acknowledged: SentEvents[]
  /** Sent, and not answered 200 (yet). */
  unanswered: Set<SentEvents>
  /** Distinct events answered 200 so far. */
  acknowledged_events(): number
  /** Resolves when all requests are answered; rejects after a wrong answer. */
  ended: Promise<void>
  /** Sends no new batch. Resolves when the open ones are answered. */
  stop(): Promise<void>
}

const sdk_batch_events = 50
const bulk_installs = 4
const bulk_install_events = 25
/** One of 10 requests is a bulk request. One of 7 is sent twice at once, to different gateways. */
const bulk_every = 10
const twice_every = 7
/** Batches per device, so that several batches of one install follow each other. */
const device_batches = 25
/** Pause before a retry without `Retry-After`. */
const again_ms = 100
const again_ms_max = 1000

/** Starts clients that send each batch with the same event ids until it is answered 200, as SDKs do. */
export function startLoad(options: LoadOptions): Load {
  const { tenants, gateways, again = true, events_max = Number.POSITIVE_INFINITY } = options
  const acknowledged: SentEvents[] = []
  const unanswered = new Set<SentEvents>()
  const started = performance.now()
  let stopping = false
  let requests = 0
  let events_begun = 0
  let events_done = 0
  let next = 0

  const nextGateway = () => {
    next += 1
    return gateways[next % gateways.length] ?? ''
  }
  const send = async (request: FleetRequest) => {
    const answer = await post(nextGateway(), request)
    options.onAnswer?.(answer)
    return answer
  }

  async function sendUntilAnswered(request: FleetRequest): Promise<void> {
    for (const sent of request.sent) unanswered.add(sent)
    for (;;) {
      const answer = await send(request)
      if (answer?.status === 200) break
      if (!again) return
      await pause(Math.min(again_ms_max, (answer?.retry_after_s ?? 0) * 1000 || again_ms))
    }
    for (const sent of request.sent) unanswered.delete(sent)
    acknowledged.push(...request.sent)
    events_done += request.events
    options.onAcknowledged?.(request)
  }

  async function client(number: number): Promise<void> {
    const tenant = tenants[number % tenants.length]!
    let device = makeDevice()
    for (let n = 1; !stopping && events_begun < events_max; n += 1) {
      if (n % device_batches === 0) device = makeDevice()
      requests += 1
      const request_number = requests
      const request = request_number % bulk_every === 0 ? bulk(tenant) : sdk(tenant, device)
      const due = started + (events_begun * 1000) / options.events_per_second
      events_begun += request.events
      await pause(Math.max(0, due - performance.now()))
      const twice = again && request_number % twice_every === 0
      await Promise.all([sendUntilAnswered(request), ...(twice ? [send(request)] : [])])
    }
  }

  const ended = Promise.all(Array.from({ length: options.clients }, (_, number) => client(number))).then(() => {})
  ended.catch(() => {}) // `ended` and `stop` throw it
  return {
    acknowledged,
    unanswered,
    acknowledged_events: () => events_done,
    ended,
    async stop() {
      stopping = true
      await ended
    },
  }
}

const sdk = (tenant: FleetTenant, device: Device) => sdkRequest(tenant, device.nextBatch(sdk_batch_events))
const bulk = (tenant: FleetTenant) =>
  bulkRequest(
    tenant,
    Array.from({ length: bulk_installs }, () => makeDevice().nextBatch(bulk_install_events)),
  )
