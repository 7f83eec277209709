import type { RejectedEvent, SdkClientOptions } from '../../src/sdk/sdk-options.ts'
import { createSdkClient } from '../../src/sdk-client.ts'
import { memoryStorage } from '../../src/storage.ts'
import {
  EventShelf,
  eventsOf,
  isSigned,
  type JsonObject,
  type Received,
  type Reply,
  startService,
} from '../hostile-service.ts'

const signing_secret = 'c0ffee'.repeat(10)
/** The credentials of the client. */
export const keys = { company_key: 'co_live_1', app_key: 'app_live_1', signing_secret }
/** Short pauses, always at their upper bound. */
const backoff = { first_pause_ms: 5, pause_ms_max: 20, random: () => 1 }

/** Opens a client and a service that takes signed requests. `before` may answer instead; `n` counts earlier requests. */
export async function openSdkClient(
  before: (events: JsonObject[], n: number, shelf: EventShelf, request: Received) => Reply | null = () => null,
  more: Partial<SdkClientOptions> = {},
) {
  const shelf = new EventShelf()
  let n = 0
  const { url, received } = await startService((request) => {
    if (!isSigned(request, signing_secret)) return { status: 401, body: { error: 'bad_signature' } }
    const events = eventsOf(request)
    return before(events, n++, shelf, request) ?? shelf.take(events)
  })
  const rejected: RejectedEvent[] = []
  const errors: string[] = []
  const storage = memoryStorage()
  const connect = (change: Partial<SdkClientOptions> = {}) =>
    createSdkClient({
      ...keys,
      url,
      storage,
      backoff,
      onRejected: (one) => rejected.push(one),
      onError: ({ code }) => errors.push(code),
      ...more,
      ...change,
    })
  return { client: connect(), connect, errors, received, rejected, shelf, storage }
}

/** `count` events that differ in `props.n`. */
export const some = (count: number, more: JsonObject = {}) =>
  Array.from({ length: count }, (_, n) => ({ event_name: 'tap', props: { n }, ...more }))
/** Tracks all events at once and gives their ids. */
export const track = (client: ReturnType<typeof createSdkClient>, events: JsonObject[]) =>
  Promise.all(events.map((event) => client.track(event as { event_name: string })))
/** Random text that does not compress. */
export const noise = (bytes: number) => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString('base64')
