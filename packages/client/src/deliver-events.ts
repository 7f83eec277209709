import type { EventResult } from './events.ts'
import { type Answer, errorOf } from './http.ts'
import type { Delivered } from './retry.ts'
import { TributaryError } from './tributary-error.ts'

/** One event on its way. */
export interface Outgoing {
  /** Sent byte for byte. */
  json: string
  /** When given, an `accepted` for another id is no answer to this event. */
  event_id?: string
  event_name: unknown
  /** `ios` or `android` wherever the event names one. */
  platforms: readonly string[]
}

/** What became of an event. `repeated`: it may have been taken twice, see `Delivered`. */
export type Outcome =
  | { status: 'accepted'; repeated: boolean }
  | { status: 'rejected'; reason: string; field: string | null }

export interface Settled<E> {
  event: E
  outcome: Outcome
}

export interface DeliveryDeps<E> {
  /** Sends these events as one request. */
  post(events: readonly E[]): Promise<Delivered>
  /** Called as soon as an answer decides about events, so that a later failure can't make us forget it. */
  settle(settled: readonly Settled<E>[]): void | Promise<void>
  refusals: Refusals
}

/** What the service is known to refuse whole requests for; asked before sending, so that each is found only once. */
export class Refusals {
  readonly #known = new Map<string, string>()

  /** Notes why a request that held only this event was refused. */
  learn(event: Outgoing, code: string): void {
    const key = refusedFor(event, code)
    if (key !== null && this.#known.size < 1000) this.#known.set(key, code)
  }

  /** The code that a request with this event would be refused with, null when it may pass. */
  find({ event_name, platforms }: Outgoing): string | null {
    if (this.#known.size === 0) return null
    const name = typeof event_name === 'string' ? [`name ${event_name}`] : []
    const keys = [...name, ...platforms.map((platform) => `platform ${platform}`)]
    return keys.map((key) => this.#known.get(key)).find((code) => code !== undefined) ?? null
  }
}

function refusedFor({ event_name, platforms }: Outgoing, code: string): string | null {
  if (code === 'event_not_allowed_by_key' && typeof event_name === 'string') return `name ${event_name}`
  if (code === 's2s_app_platform_mismatch' && platforms.length === 1) return `platform ${platforms[0]}`
  return null
}

/**
 * Brings events to their end: each is settled as accepted or rejected, once. A request that is refused because of what
 * is in it is halved until the guilty events stand alone; the rest is sent. Nothing that was settled is sent again.
 * Throws TributaryError when a request is refused for another cause; what is not settled then is undecided.
 */
export async function deliverEvents<E extends Outgoing>(all: readonly E[], deps: DeliveryDeps<E>): Promise<void> {
  const judged = all.map((event) => ({ event, code: deps.refusals.find(event) }))
  const foreseen = judged.flatMap(({ event, code }) => (code === null ? [] : [reject(event, code)]))
  if (foreseen.length > 0) await deps.settle(foreseen)
  const events = judged.flatMap(({ event, code }) => (code === null ? [event] : []))
  if (events.length === 0) return

  const { answer, repeated } = await deps.post(events)
  if (answer.status === 200) return deps.settle(readResults(events, answer, repeated))
  const error = errorOf(answer)
  // A proxy's 413 carries no code of ours.
  const code = answer.status === 413 && error.code === 'unexpected_answer' ? 'body_too_large' : error.code
  if (answer.status !== 413 && !codes_for_content.has(code)) throw error
  const [only] = events
  if (events.length === 1 && only !== undefined) {
    deps.refusals.learn(only, code)
    return deps.settle([reject(only, code, error.field)])
  }
  const middle = Math.ceil(events.length / 2)
  await deliverEvents(events.slice(0, middle), deps)
  await deliverEvents(events.slice(middle), deps)
}

const reject = <E>(event: E, reason: string, field?: string): Settled<E> => ({
  event,
  outcome: { status: 'rejected', reason, field: field ?? null },
})

/** The events themselves are why, so fewer of them may pass. */
const codes_for_content = new Set([
  'bad_json',
  'bad_batch_shape',
  'invalid_field',
  'too_many_events',
  's2s_app_platform_mismatch',
  'event_not_allowed_by_key',
  'decompressed_too_large',
])

/** Results stand in the order of the request. A 200 that doesn't decide about every event acknowledges none. */
function readResults<E extends Outgoing>(events: readonly E[], answer: Answer, repeated: boolean): Settled<E>[] {
  const results = (answer.body as { results?: unknown } | null | undefined)?.results
  if (!Array.isArray(results) || results.length !== events.length) throw notOurs('no result for each event')
  return events.map((event, index): Settled<E> => {
    const result = results[index] as Partial<EventResult> | null
    if (result?.status === 'rejected') return reject(event, result.reason ?? 'rejected', result.field)
    if (result?.status !== 'accepted') throw notOurs('a result that is neither accepted nor rejected')
    if (event.event_id !== undefined && result.event_id !== event.event_id) throw notOurs('results of other events')
    return { event, outcome: { status: 'accepted', repeated } }
  })
}

const notOurs = (what: string): TributaryError =>
  new TributaryError('unexpected_answer', { status: 200, message: `The service answered 200 with ${what}.` })

/** `platforms` of an event: where it says `ios` or `android` in any case. */
export function platformsOf({ platform, props, device }: Record<string, unknown>): string[] {
  const inside = (value: unknown, name: string) =>
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
  const named = [platform, inside(props, 'platform'), inside(device, 'os')].flatMap((value) =>
    typeof value === 'string' ? [value.toLowerCase()] : [],
  )
  return [...new Set(named)].filter((name) => name === 'ios' || name === 'android')
}
