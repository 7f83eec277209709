import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { type CountersBreaker, countingBreaker } from '@tributary/tenancy/quota/counters-breaker'
import { Counter } from 'prom-client'
import type { PostbackGatewayDeps } from './deps.ts'

/** The circuit breaker of this gateway (docs/rules.md#counters-that-are-away). */
export const createCounters = ({ now, registry }: Pick<PostbackGatewayDeps, 'now' | 'registry'>): CountersBreaker =>
  countingBreaker(
    now,
    sharedMetric(registry, Counter, {
      name: 'tributary_postback_guards_missed_total',
      help: 'Checks of a postback that did not take place, because the counters were away.',
    }),
  )
