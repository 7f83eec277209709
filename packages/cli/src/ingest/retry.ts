import { setTimeout as sleep } from 'node:timers/promises'
import { CliError } from '../errors.ts'
import { type Answer, errorOf, refusal } from '../http.ts'

const first_pause_ms = 250
const pause_ms_max = 30_000

export interface RetryOptions {
  /** How long a service may be away or failing before we give up. Being asked to wait (429) is no failure. */
  give_up_after_ms: number
  signal: AbortSignal
}

export interface Delivered {
  answer: Answer
  /** True: an earlier attempt ended without an answer that says "not taken", so the service may have it twice. */
  repeated: boolean
}

/**
 * Tries until the service takes or refuses the request. Tried again with growing, jittered pauses, at least as long as
 * `Retry-After` asks: no answer, 5xx, 429. A used-up quota (`cap_exceeded`) is an answer, since it lasts for days.
 */
export async function deliver(attempt: () => Promise<Answer>, options: RetryOptions): Promise<Delivered> {
  let repeated = false
  let failing_since: number | null = null
  for (let tries = 0; ; tries += 1) {
    const found = await attempt().catch(asFailure)
    const waits = !(found instanceof CliError) && found.status === 429
    if (!(found instanceof CliError) && !isRetried(found)) return { answer: found, repeated }
    if (!waits) {
      repeated = true
      failing_since ??= performance.now()
      if (performance.now() - failing_since > options.give_up_after_ms) {
        throw found instanceof CliError ? found : refusal(found)
      }
    }
    options.signal.throwIfAborted()
    await sleep(pause(tries, found instanceof CliError ? null : found), undefined, { signal: options.signal })
  }
}

/** Only a request that got no answer is tried again; other errors are ours. */
function asFailure(error: unknown): CliError {
  if (error instanceof CliError && error.code === 'unavailable') return error
  throw error
}

function isRetried(answer: Answer): boolean {
  return answer.status >= 500 || (answer.status === 429 && errorOf(answer).code !== 'cap_exceeded')
}

/** Half fixed, half random, so that many clients do not come back together. */
function pause(tries: number, answer: Answer | null): number {
  const grown = Math.min(pause_ms_max, first_pause_ms * 2 ** Math.min(tries, 10))
  const asked = answer === null ? 0 : retryAfterMs(answer.headers.get('retry-after'))
  return Math.max(asked, grown / 2) + (Math.random() * grown) / 2
}

/** `Retry-After` in its two forms, seconds and date; 0 without one. */
function retryAfterMs(value: string | null): number {
  if (value === null) return 0
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const at_ms = Date.parse(value)
  return Number.isNaN(at_ms) ? 0 : Math.max(0, at_ms - Date.now())
}
