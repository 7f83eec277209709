import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { KeyValue } from '@tributary/key-value/key-value'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { Counter, type Registry } from 'prom-client'
import type { CountersBreaker } from './counters-breaker.ts'
import { createKeyUse } from './key-use.ts'

export interface KeyRateDeps {
  keyValue: Pick<KeyValue, 'hitWindow' | 'addCapped' | 'reconcile'>
  /** Shared by all that count in the same store. */
  breaker: CountersBreaker
  now: () => number
  registry: Registry
}

/** A counted request of a server key. */
export interface SpentRequest {
  /** `RateLimit-*` of its answer, whatever the answer is. */
  headers: Record<string, string>
  /** `rate_limited` for a request too many, which uses nothing up. */
  refusal: CodedError | null
}

export interface KeyRate {
  /**
   * Uses up one request of a server key. While the counters are away there is no limit and no header
   * (docs/rules.md#counters-that-are-away). Notes the use of the key too.
   */
  spend(key_id: string): Promise<SpentRequest>
}

/** The rate of a server key (docs/rules.md#requests-of-a-key), shared by S2S and reports and by all processes. */
export function createKeyRate({ keyValue, breaker, now, registry }: KeyRateDeps): KeyRate {
  const use = createKeyUse({ keyValue, breaker, now })
  const limit = limits.key_requests_max
  const window_ms = limits.key_requests_window_ms
  const missed = sharedMetric(registry, Counter, {
    name: 'tributary_key_rate_missed_total',
    help: 'Requests without a rate limit, because the counters were away.',
  })
  const refused = sharedMetric(registry, Counter, {
    name: 'tributary_key_rate_refused_total',
    help: 'Requests answered `rate_limited`.',
  })

  return {
    async spend(key_id) {
      use.note(key_id)
      const hit = await breaker(() => keyValue.hitWindow(`rate:${key_id}`, limit, window_ms))
      if (hit === null) {
        missed.inc()
        return { headers: {}, refusal: null }
      }
      const wait_s = Math.max(1, Math.ceil(hit.retry_after_ms / 1000))
      const headers = {
        'ratelimit-limit': String(limit),
        'ratelimit-remaining': String(hit.remaining),
        'ratelimit-reset': String(hit.remaining === 0 ? wait_s : window_ms / 1000),
      }
      if (hit.allowed) return { headers, refusal: null }
      refused.inc()
      return { headers, refusal: new CodedError('rate_limited', { headers: { 'retry-after': String(wait_s) } }) }
    },
  }
}
