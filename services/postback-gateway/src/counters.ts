import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { type CountersBreaker, countersBreaker } from '@tributary/tenancy/quota/counters-breaker'
import { Counter } from 'prom-client'
import type { PostbackGatewayDeps } from './deps.ts'

/** Runs a step on the counters; null when they are away. */
export type Counters = CountersBreaker

/** The circuit breaker of this gateway. It counts the steps that did not take place (docs/rules.md#counters-that-are-away). */
export function createCounters({ now, registry }: Pick<PostbackGatewayDeps, 'now' | 'registry'>): Counters {
  const breaker = countersBreaker(now)
  const missed = sharedMetric(registry, Counter, {
    name: 'tributary_postback_guards_missed_total',
    help: 'Checks of a postback that did not take place, because the counters were away.',
  })
  return async (step) => {
    const answer = await breaker(async () => ({ found: await step() }))
    if (answer === null) missed.inc()
    return answer === null ? null : answer.found
  }
}
