import { type Answer, errorOf } from './http.ts'
import { limits } from './limits.ts'
import { TributaryError } from './tributary-error.ts'

export interface Backoff {
  /** Upper bound of the first pause; each next one doubles it. */
  first_pause_ms: number
  pause_ms_max: number
  /** 0 to 1. */
  random: () => number
}

export interface RetryPolicy extends Backoff {
  /** Requests in all. */
  attempts_max: number
  /** How long the service may be away or failing before we give up. Being asked to wait (429) is no failure. */
  give_up_after_ms: number
}

/** 250 ms doubling to 30 s, for a minute, ten requests at most. */
export const defaultPolicy: RetryPolicy = {
  attempts_max: 10,
  give_up_after_ms: 60_000,
  first_pause_ms: 250,
  pause_ms_max: 30_000,
  random: Math.random,
}

export interface Delivered {
  answer: Answer
  /** True: an earlier attempt ended without an answer that says "not taken", so the service may have it twice. */
  repeated: boolean
}

/**
 * Tries until the service takes or refuses the request. Throws TributaryError when the policy or the service's
 * `Retry-After` says that it's not worth waiting; a used-up quota (`cap_exceeded`) is such an answer, it lasts for days.
 */
export async function deliver(
  attempt: () => Promise<Answer>,
  policy: RetryPolicy,
  signal?: AbortSignal,
): Promise<Delivered> {
  let repeated = false
  let failing_since: number | null = null
  for (let tries = 1; ; tries += 1) {
    const found = await attempt().catch(asNoAnswer)
    if (!(found instanceof TributaryError) && !isRetried(found.status)) return { answer: found, repeated }
    const error = found instanceof TributaryError ? found : errorOf(found)
    if (!(found instanceof TributaryError) && error.code === 'cap_exceeded') return { answer: found, repeated }
    const asked_ms = error.retry_after_ms ?? 0
    if (tries >= policy.attempts_max) throw error
    if (error.status === 429) {
      if (asked_ms > limits.asked_pause_ms_max) throw error
    } else {
      repeated = true
      failing_since ??= performance.now()
      if (performance.now() + asked_ms - failing_since > policy.give_up_after_ms) throw error
    }
    await sleep(pauseMs(tries, asked_ms, policy), signal)
  }
}

/** Only a request that got no answer is tried again; other errors are the caller's. */
function asNoAnswer(error: unknown): TributaryError {
  if (error instanceof TributaryError && error.code === 'unavailable') return error
  throw error
}

/** Whether the same request may succeed later: no answer (0), a timed-out one (408), 429 and 5xx. */
export const isRetried = (status: number): boolean => status === 0 || status === 408 || status === 429 || status >= 500

/** What the service asks for, and behind it a random share of a bound that doubles ("full jitter"). */
export function pauseMs(tries: number, asked_ms: number, { first_pause_ms, pause_ms_max, random }: Backoff): number {
  return asked_ms + random() * Math.min(pause_ms_max, first_pause_ms * 2 ** Math.min(tries - 1, 30))
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
