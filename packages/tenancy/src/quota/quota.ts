import { CodedError } from '@tributary/contracts/errors'
import type { KeyValue } from '@tributary/key-value/key-value'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import type { CountersBreaker } from './counters-breaker.ts'
import { createMonthCounter, type MonthCounter } from './month-counter.ts'
import { monthEndMs, monthOf, monthStartMs, quota_kept_ms, quotaKey, rejectedKey } from './quota-key.ts'

export interface QuotaDeps {
  keyValue: Pick<KeyValue, 'addCapped' | 'is_local'>
  /** Shared by all that count in the same store. */
  breaker: CountersBreaker
  logger: Logger
  registry: Registry
}

interface Company {
  company_id: string
  /** Events per UTC month; null is unlimited. */
  monthly_quota: number | null
}

export interface Reservation {
  /** `X-Service-Quota-Used` and, with a cap, `X-Service-Quota-Limit`. */
  headers: Record<string, string>
  /** For a request that failed after it had reserved. Never rejects. */
  giveBack(): Promise<void>
}

export interface Quota {
  /**
   * Reserves `n` accepted events and the `rejected` ones, by reason, of the month in which they were received, all or
   * none. Each of the two numbers has the quota as its cap, and both are counted without one too. Throws `cap_exceeded`,
   * also for a request without accepted events when the quota is used up.
   */
  reserve(
    company: Company,
    n: number,
    received_at_ms: number,
    rejected?: ReadonlyMap<string, number>,
  ): Promise<Reservation>
  /** Gives back what is held ahead of requests. Never rejects. */
  close(): Promise<void>
}

/** Accepted or rejected events of a company and month. */
interface Month {
  counter: MonthCounter
  from_ms: number
  /** First millisecond of the next month. */
  end_ms: number
  /** That the whole quota is used up was logged. */
  spent: boolean
  /** That a request was refused, with some of the quota left, was logged. */
  crossed: boolean
}

const warn_share = 0.8

/**
 * The monthly quota (docs/rules.md#quota), in atomic steps of the shared counters (month-counter.ts), so that gateways
 * that race for the last events never pass the cap.
 */
export function createQuota({ keyValue, breaker, logger, registry }: QuotaDeps): Quota {
  const accepted = new Map<string, Month>()
  const rejected = new Map<string, Month>()
  const metrics = quotaMetrics(registry)

  function findMonth(months: typeof accepted, company_id: string, at_ms: number): Month {
    const latest = months.get(company_id)
    if (latest !== undefined && at_ms >= latest.from_ms && at_ms < latest.end_ms) return latest
    const span = { from_ms: monthStartMs(at_ms), end_ms: monthEndMs(at_ms) }
    const key = (months === accepted ? quotaKey : rejectedKey)(company_id, at_ms)
    // Nothing settles the counter of rejected events.
    const leases = months === accepted && !keyValue.is_local
    const counter = createMonthCounter({ key, keyValue, breaker, leases, metrics })
    const month = { counter, ...span, spent: false, crossed: false }
    months.set(company_id, month)
    return month
  }

  function warnReached(company_id: string, month: Month, percent: 80 | 100, used: number, cap: number): void {
    metrics.reached.inc({ percent })
    logger.warn({ company_id, month: monthOf(month.from_ms), used, cap, percent }, 'monthly quota reached')
  }

  function warnSpent(company_id: string, month: Month, used: number, cap: number): void {
    if (month.spent) return
    month.spent = true
    warnReached(company_id, month, 100, used, cap)
  }

  /** The first request that a month has no room for is logged by each process. */
  function refuse(company_id: string, month: Month, cap: number, at_ms: number): CodedError {
    metrics.refused.inc()
    const used = month.counter.used()
    if (used >= cap) warnSpent(company_id, month, used, cap)
    else if (!month.crossed) {
      month.crossed = true
      const percent = Math.floor((100 * used) / cap)
      logger.warn(
        { company_id, month: monthOf(month.from_ms), used, cap, percent },
        'request would cross the monthly quota',
      )
    }
    return refusal(cap, used, at_ms, `${used} of ${cap} events of this month are used: these would be too many.`)
  }

  function refuseRejected(company_id: string, month: Month, cap: number, used: number, at_ms: number): CodedError {
    metrics.refused.inc()
    if (!month.spent)
      logger.warn({ company_id, month: monthOf(month.from_ms), cap }, 'rejected events reached the quota')
    month.spent = true
    return refusal(cap, used, at_ms, `No more than ${cap} events may be rejected in a month, and these would be more.`)
  }

  return {
    async close() {
      await Promise.all([...accepted.values()].map(({ counter }) => counter.close()))
    },
    async reserve({ company_id, monthly_quota: cap }, n, at_ms, reasons) {
      const rejected_n = [...(reasons?.values() ?? [])].reduce((sum, one) => sum + one, 0)
      if (n === 0 && rejected_n === 0 && cap === null) return { headers: {}, giveBack: async () => {} }
      const month = findMonth(accepted, company_id, at_ms)
      const ttl_ms = month.end_ms - at_ms + quota_kept_ms
      const total = await month.counter.take(n, cap, ttl_ms)
      // Without accepted events nothing is added: the step shows whether the quota is used up.
      if (total === null || (n === 0 && cap !== null && total >= cap)) throw refuse(company_id, month, cap!, at_ms)
      const bad = rejected_n > 0 ? findMonth(rejected, company_id, at_ms) : null
      if (bad !== null && (await bad.counter.take(rejected_n, cap, ttl_ms)) === null) {
        await month.counter.giveBack(n, ttl_ms)
        throw refuseRejected(company_id, bad, cap!, total - n, at_ms)
      }
      if (cap !== null) {
        // Only the step that crosses the mark logs it.
        if (total - n < cap * warn_share && total >= cap * warn_share) warnReached(company_id, month, 80, total, cap)
        if (total >= cap) warnSpent(company_id, month, total, cap)
      }
      return {
        headers: useHeaders(total, cap),
        async giveBack() {
          await month.counter.giveBack(n, ttl_ms)
          if (bad !== null) await bad.counter.giveBack(rejected_n, ttl_ms)
        },
      }
    },
  }
}

const useHeaders = (used: number, cap: number | null): Record<string, string> => ({
  'x-service-quota-used': String(used),
  ...(cap === null ? {} : { 'x-service-quota-limit': String(cap) }),
})

function refusal(cap: number, used: number, at_ms: number, message: string): CodedError {
  const wait_s = Math.max(1, Math.ceil((monthEndMs(at_ms) - at_ms) / 1000))
  const headers = { ...useHeaders(used, cap), 'retry-after': String(wait_s) }
  return new CodedError('cap_exceeded', { headers, message })
}

/** Gateways of one process count together. */
function quotaMetrics(registry: Registry) {
  return {
    refused: sharedMetric(registry, Counter, {
      name: 'tributary_quota_refused_total',
      help: 'Requests answered `cap_exceeded`.',
    }),
    reached: sharedMetric(registry, Counter, {
      name: 'tributary_quota_reached_total',
      help: 'Times that a company came to 80 or 100 percent of its month.',
      labelNames: ['percent'],
    }),
    alone: sharedMetric(registry, Counter, {
      name: 'tributary_quota_alone_events_total',
      help: 'Events accepted or refused by what this process knows alone, because the counters were away.',
    }),
    kept: sharedMetric(registry, Counter, {
      name: 'tributary_quota_kept_events_total',
      help: 'Events reserved and not used that could not be given back, because the counters were away.',
    }),
  }
}
