import { type Answer, errorOf } from './http.ts'
import { limits } from './limits.ts'
import { TributaryError } from './tributary-error.ts'

export interface Backoff {
  /** Upper bound of the first pause. Each later pause doubles it. */
  first_pause_ms: number
  pause_ms_max: number
  /** Gives a number from 0 to 1. */
  random: () => number
}

export interface RetryPolicy extends Backoff {
  /** Maximum number of requests, the first one included. */
  attempts_max: number
  /** How long the service may be unreachable or fail before the call gives up. A 429 does not count as a failure. */
  give_up_after_ms: number
}

/** Pauses of 250 ms that double up to 30 s, for one minute and ten requests at most. */
export const defaultPolicy: RetryPolicy = {
  attempts_max: 10,
  give_up_after_ms: 60_000,
  first_pause_ms: 250,
  pause_ms_max: 30_000,
  random: Math.random,
}

export interface Delivered {
  answer: Answer
  /** True when an earlier attempt got no clear refusal, so the service may have taken the request twice. */
  repeated: boolean
}

/**
 * Tries until the service takes or refuses the request. Throws TributaryError when the policy is used up or `Retry-After`
 * is too long. A used-up quota (`cap_exceeded`) lasts for days, so that answer is returned at once.
 */
export async function deliver(
  attempt: () => Promise<Answer>,
  policy: RetryPolicy,
  signal?: AbortSignal,
): Promise<Delivered> {
  let repeated = false
  let failing_since: number | null = null
  for (let tries = 1; ; tries += 1) {
    const found = await attempt().catch(requireUnanswered)
    if (!(found instanceof TributaryError) && !isRetried(found.status)) return { answer: found, repeated }
    const error = found instanceof TributaryError ? found : errorOf(found)
    if (!(found instanceof TributaryError) && error.code === 'cap_exceeded') return { answer: found, repeated }
    const { retry_after_ms = 0 } = error
    if (tries >= policy.attempts_max) throw error
    if (error.status === 429) {
      if (retry_after_ms > limits.retry_after_ms_max) throw error
    } else {
      repeated = true
      failing_since ??= performance.now()
      if (performance.now() + retry_after_ms - failing_since > policy.give_up_after_ms) throw error
    }
    await sleep(pauseMs(tries, retry_after_ms, policy), signal)
  }
}

/** Returns the error of a request without an answer, which is retried. Throws any other error to the caller. */
function requireUnanswered(error: unknown): TributaryError {
  if (error instanceof TributaryError && error.code === 'unavailable') return error
  throw error
}

/** Whether the same request may succeed later: no answer (0), request timeout (408), 429 and 5xx. */
export const isRetried = (status: number): boolean => status === 0 || status === 408 || status === 429 || status >= 500

/** `Retry-After` plus a random share of a bound that doubles with each try ("full jitter"). */
export function pauseMs(
  tries: number,
  retry_after_ms: number,
  { first_pause_ms, pause_ms_max, random }: Backoff,
): number {
  return retry_after_ms + random() * Math.min(pause_ms_max, first_pause_ms * 2 ** Math.min(tries - 1, 30))
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
