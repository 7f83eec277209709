import { CodedError } from '@tributary/contracts/errors'
import type { KeyValue } from '@tributary/key-value/key-value'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import type { CountersBreaker } from './counters-breaker.ts'
import {
  createMonthCounter,
  lease_bytes_max,
  lease_events_max,
  type MonthCounter,
  type MonthCounterDeps,
} from './month-counter.ts'
import {
  bodyBytesKey,
  bodyBytesMax,
  monthEndMs,
  monthOf,
  monthStartMs,
  quota_kept_ms,
  quotaKey,
  rejectedKey,
} from './quota-key.ts'
import { giveAllBack, type Take, takeAll } from './take-all.ts'

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
  /** Gives back what a request reserved that failed later. Never rejects. */
  giveBack(): Promise<void>
}

/** What a request uses up. */
export interface Use {
  /** Accepted events that count toward the quota. */
  counted: number
  /** Rejected events by reason. */
  rejected?: ReadonlyMap<string, number>
  /** Bytes of the body, accepted, rejected and repeated events alike. */
  body_bytes: number
}

export interface Quota {
  /**
   * Reserves what a request uses up of the month in which it was received, all or none. Accepted and rejected events have
   * the quota as their cap each, and are counted without one too; bytes have `bodyBytesMax`. Throws `cap_exceeded`, also
   * for a request without accepted events when the quota is used up.
   */
  reserve(company: Company, use: Use, received_at_ms: number): Promise<Reservation>
  /** Gives back what is held ahead of requests. Never rejects. */
  close(): Promise<void>
}

/** What this process knows of a company and month. */
interface Month {
  company_id: string
  from_ms: number
  /** First millisecond of the next month. */
  end_ms: number
  accepted: MonthCounter
  rejected: MonthCounter
  bytes: MonthCounter
  /** What was logged, once each. */
  reported: Set<Reported>
}
/** That the whole quota is used up, or that a request was refused: with some of the quota left, or for the other counters. */
type Reported = 'spent' | 'crossed' | 'rejected' | 'bytes'

const warn_share = 0.8
const unmeasured = { alone: { inc() {} }, kept: { inc() {} } }

/**
 * The monthly quota (docs/rules.md#quota), in atomic steps of the shared counters (month-counter.ts), so that gateways
 * that race for the last events or bytes never pass a cap.
 */
export function createQuota({ keyValue, breaker, logger, registry }: QuotaDeps): Quota {
  const months = new Map<string, Month>()
  const metrics = quotaMetrics(registry)

  function findMonth(company_id: string, at_ms: number): Month {
    const latest = months.get(company_id)
    if (latest !== undefined && at_ms >= latest.from_ms && at_ms < latest.end_ms) return latest
    const count = (key: string, lease_max: number, counted: MonthCounterDeps['metrics']) =>
      createMonthCounter({ key, keyValue, breaker, lease_max: keyValue.is_local ? 0 : lease_max, metrics: counted })
    const month = {
      ...{ company_id, from_ms: monthStartMs(at_ms), end_ms: monthEndMs(at_ms), reported: new Set<Reported>() },
      accepted: count(quotaKey(company_id, at_ms), lease_events_max, metrics),
      rejected: count(rejectedKey(company_id, at_ms), 0, metrics), // few requests have any
      bytes: count(bodyBytesKey(company_id, at_ms), lease_bytes_max, unmeasured),
    }
    months.set(company_id, month)
    return month
  }

  function warn({ company_id, from_ms }: Month, line: string, figures: object): void {
    logger.warn({ company_id, month: monthOf(from_ms), ...figures }, line)
  }

  function warnReached(month: Month, percent: 80 | 100, used: number, cap: number): void {
    metrics.reached.inc({ percent })
    warn(month, 'monthly quota reached', { used, cap, percent })
  }

  /** Whether this is the first time in the month. */
  const isNew = ({ reported }: Month, what: Reported): boolean =>
    !reported.has(what) && reported.add(what) !== undefined

  function warnSpent(month: Month, used: number, cap: number): void {
    if (isNew(month, 'spent')) warnReached(month, 100, used, cap)
  }

  /** Logs the first request that a month has no room for, and returns the message of its refusal. */
  function explain(month: Month, counter: Take['counter'], cap: number): string {
    const used = counter.used()
    if (counter === month.bytes) {
      if (isNew(month, 'bytes')) warn(month, 'request would cross the monthly bytes of bodies', { used, cap })
      return `${used} of ${cap} bytes of request bodies of this month are used: these would be too many.`
    }
    if (counter === month.rejected) {
      if (isNew(month, 'rejected')) warn(month, 'rejected events reached the quota', { cap })
      return `No more than ${cap} events may be rejected in a month, and these would be more.`
    }
    const percent = Math.floor((100 * used) / cap)
    if (used >= cap) warnSpent(month, used, cap)
    else if (isNew(month, 'crossed')) warn(month, 'request would cross the monthly quota', { used, cap, percent })
    return `${used} of ${cap} events of this month are used: these would be too many.`
  }

  return {
    async close() {
      const counters = [...months.values()].flatMap(({ accepted, rejected, bytes }) => [accepted, rejected, bytes])
      await Promise.all(counters.map((counter) => counter.close()))
    },
    async reserve({ company_id, monthly_quota: cap }, { counted: n, rejected, body_bytes }, at_ms) {
      const rejected_n = [...(rejected?.values() ?? [])].reduce((sum, one) => sum + one, 0)
      if (n === 0 && rejected_n === 0 && cap === null) return { headers: {}, giveBack: async () => {} }
      const month = findMonth(company_id, at_ms)
      const ttl_ms = month.end_ms - at_ms + quota_kept_ms
      // Nothing is added where no event was accepted: the step shows whether the quota is used up.
      const accepted = { counter: month.accepted, n, cap, total: 0 }
      const takes: Take[] = [accepted]
      if (rejected_n > 0) takes.push({ counter: month.rejected, n: rejected_n, cap, total: 0 })
      if (cap !== null) takes.push({ counter: month.bytes, n: body_bytes, cap: bodyBytesMax(cap), total: 0 })
      const refused = await takeAll(takes, ttl_ms)
      if (refused !== null) {
        metrics.refused.inc()
        const message = explain(month, refused.counter, refused.cap!)
        throw refusal(cap!, month.accepted.used(), at_ms, message)
      }
      const { total } = accepted
      if (cap !== null) {
        // Only the step that crosses the mark logs it.
        if (total - n < cap * warn_share && total >= cap * warn_share) warnReached(month, 80, total, cap)
        if (total >= cap) warnSpent(month, total, cap)
      }
      return { headers: useHeaders(total, cap), giveBack: () => giveAllBack(takes, ttl_ms) }
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
