import type { EventResult } from './events.ts'
import { type Answer, errorOf } from './http.ts'
import type { Delivered } from './retry.ts'
import { TributaryError } from './tributary-error.ts'

/** One event on its way. */
export interface Outgoing {
  /** Sent byte for byte. */
  json: string
  /** When given, an `accepted` for another id does not count as an answer to this event. */
  event_id?: string
  event_name: unknown
  /** Each platform that the event names, `ios` or `android`. */
  platforms: readonly string[]
}

/** The final result for an event. `repeated`: the service may have taken it twice, see `Delivered`. */
export type Outcome =
  | { status: 'accepted'; repeated: boolean }
  | { status: 'rejected'; reason: string; field: string | null; message: string | null }

export interface Decided<E> {
  event: E
  outcome: Outcome
}

export interface DeliveryDeps<E> {
  /** Sends these events as one request. */
  post(events: readonly E[]): Promise<Delivered>
  /** Called as soon as an answer decides about events, so that a later failure can't make us forget it. */
  onDecided(decided: readonly Decided<E>[]): void | Promise<void>
  refusals: Refusals
}

/** Remembers event names and platforms for which the service refuses whole requests, so that each is found only once. */
export class Refusals {
  readonly #known = new Map<string, string>()

  /** Remembers why a request with only this event was refused. */
  learn(event: Outgoing, code: string): void {
    const key = refusedFor(event, code)
    if (key !== null && this.#known.size < 1000) this.#known.set(key, code)
  }

  /** The code with which the service would refuse this event; null when it may pass. */
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
 * Sends events until each is decided once, as accepted or rejected. When a request is refused because of its events, it
 * is halved until each refused event stands alone, and the others are sent. A decided event is never sent again. Throws
 * TributaryError when a request is refused for another cause; other events are undecided by then.
 */
export async function deliverEvents<E extends Outgoing>(all: readonly E[], deps: DeliveryDeps<E>): Promise<void> {
  const judged = all.map((event) => ({ event, code: deps.refusals.find(event) }))
  const foreseen = judged.flatMap(({ event, code }) => (code === null ? [] : [reject(event, code, {})]))
  if (foreseen.length > 0) await deps.onDecided(foreseen)
  const events = judged.flatMap(({ event, code }) => (code === null ? [event] : []))
  if (events.length === 0) return

  const { answer, repeated } = await deps.post(events)
  if (answer.status === 200) return deps.onDecided(readResults(events, answer, repeated))
  const error = errorOf(answer)
  // A proxy's 413 carries no code of ours.
  const code = answer.status === 413 && error.code === 'unexpected_answer' ? 'body_too_large' : error.code
  if (answer.status !== 413 && !codes_for_content.has(code)) throw error
  const [only] = events
  if (events.length === 1 && only !== undefined) {
    deps.refusals.learn(only, code)
    const message = error.message === error.code ? undefined : error.message
    return deps.onDecided([reject(only, code, { field: error.field, message })])
  }
  const middle = Math.ceil(events.length / 2)
  await deliverEvents(events.slice(0, middle), deps)
  await deliverEvents(events.slice(middle), deps)
}

const reject = <E>(
  event: E,
  reason: string,
  { field, message }: Pick<EventResult, 'field' | 'message'>,
): Decided<E> => ({
  event,
  outcome: { status: 'rejected', reason, field: field ?? null, message: message ?? null },
})

/** The events caused these refusals, so fewer events may pass. */
const codes_for_content = new Set([
  'bad_json',
  'bad_batch_shape',
  'invalid_field',
  'too_many_events',
  's2s_app_platform_mismatch',
  'event_not_allowed_by_key',
  'decompressed_too_large',
])

/** Results are in the order of the request. A 200 without a result for every event acknowledges none. */
function readResults<E extends Outgoing>(events: readonly E[], answer: Answer, repeated: boolean): Decided<E>[] {
  const results = (answer.body as { results?: unknown } | null | undefined)?.results
  if (!Array.isArray(results) || results.length !== events.length) throw unexpectedAnswer('no result for each event')
  return events.map((event, index): Decided<E> => {
    const result = results[index] as Partial<EventResult> | null
    if (result?.status === 'rejected') return reject(event, result.reason ?? 'rejected', result)
    if (result?.status !== 'accepted') throw unexpectedAnswer('a result that is neither accepted nor rejected')
    if (event.event_id !== undefined && result.event_id !== event.event_id)
      throw unexpectedAnswer('results of other events')
    return { event, outcome: { status: 'accepted', repeated } }
  })
}

const unexpectedAnswer = (what: string): TributaryError =>
  new TributaryError('unexpected_answer', { status: 200, message: `The service answered 200 with ${what}.` })

/** Every `ios` or `android`, in any letter case, in the fields of an event that name a platform. */
export function platformsOf({ platform, props, device }: Record<string, unknown>): string[] {
  const inside = (value: unknown, name: string) =>
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
  const named = [platform, inside(props, 'platform'), inside(device, 'os')].flatMap((value) =>
    typeof value === 'string' ? [value.toLowerCase()] : [],
  )
  return [...new Set(named)].filter((name) => name === 'ios' || name === 'android')
}
