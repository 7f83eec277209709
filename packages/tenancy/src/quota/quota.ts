import { CodedError } from '@tributary/contracts/errors'
import type { KeyValue } from '@tributary/key-value/key-value'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import type { CountersBreaker } from './counters-breaker.ts'
import { monthEndMs, monthOf, monthStartMs, quota_kept_ms, quotaKey, rejectedKey } from './quota-key.ts'

export interface QuotaDeps {
  keyValue: Pick<KeyValue, 'addCapped'>
  /** Shared by all that count in the same store. */
  steady: CountersBreaker
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
}

/** What this process knows of one counter: accepted or rejected events of a company and month. */
interface Month {
  key: string
  from_ms: number
  /** First millisecond of the next month. */
  end_ms: number
  waiting: Waiting[]
  running: boolean
  /** The last total that the counters told. */
  known: number
  /** Accepted without the counters since then. */
  alone: number
  /** That the whole quota is used up was logged. */
  spent: boolean
  /** That a request was refused, with some of the quota left, was logged. */
  crossed: boolean
}

interface Waiting {
  n: number
  cap: number | null
  resolve(total: number | null): void
}

const warn_share = 0.8

/**
 * The monthly quota (docs/rules.md#quota), one atomic step of the shared counters, so that gateways that race for the
 * last events never pass the cap. Requests that come while a step is under way share the next one. While the counters
 * are away the last known total and a local count decide (docs/rules.md#counters-that-are-away).
 */
export function createQuota({ keyValue, steady, logger, registry }: QuotaDeps): Quota {
  const accepted = new Map<string, Month>()
  const rejected = new Map<string, Month>()
  const metrics = quotaMetrics(registry)

  function findMonth(months: typeof accepted, toKey: typeof quotaKey, company_id: string, at_ms: number): Month {
    const latest = months.get(company_id)
    if (latest !== undefined && at_ms >= latest.from_ms && at_ms < latest.end_ms) return latest
    const span = { from_ms: monthStartMs(at_ms), end_ms: monthEndMs(at_ms) }
    const month = {
      ...{ key: toKey(company_id, at_ms), ...span },
      ...{ waiting: [], running: false, known: 0, alone: 0, spent: false, crossed: false },
    }
    months.set(company_id, month)
    return month
  }

  /** The new total, null when it would pass the cap. */
  async function add(month: Month, n: number, cap: number | null, ttl_ms: number): Promise<number | null> {
    const step = await steady(() => keyValue.addCapped(month.key, n, cap, ttl_ms))
    if (step === null) {
      metrics.alone.inc(n)
      const total = month.known + month.alone + n
      if (cap !== null && total > cap) return null
      month.alone += n
      return total
    }
    month.known = step.total
    month.alone = 0
    return step.added ? step.total : null
  }

  /** The new total, null when it would pass the cap. Requests that come meanwhile share the next step. */
  function take(month: Month, n: number, cap: number | null, ttl_ms: number): Promise<number | null> {
    const { promise, resolve } = Promise.withResolvers<number | null>()
    month.waiting.push({ n, cap, resolve })
    if (!month.running) void drain(month, ttl_ms)
    return promise
  }

  async function giveBack(month: Month, n: number, ttl_ms: number): Promise<void> {
    if (n === 0) return
    if (month.alone >= n) month.alone -= n
    else if ((await steady(() => keyValue.addCapped(month.key, -n, null, ttl_ms))) === null) metrics.kept.inc(n)
  }

  /** One step for all that wait, else one for each: together they may pass a cap that some of them fit under. */
  async function drain(month: Month, ttl_ms: number): Promise<void> {
    month.running = true
    while (month.waiting.length > 0) {
      const taken = month.waiting.splice(0)
      const cap = taken[0]!.cap
      const sum = taken.reduce((total, { n }) => total + n, 0)
      const total = taken.every((one) => one.cap === cap) ? await add(month, sum, cap, ttl_ms) : null
      let used = (total ?? 0) - sum
      for (const one of taken) {
        used += one.n
        one.resolve(total === null ? await add(month, one.n, one.cap, ttl_ms) : used)
      }
    }
    month.running = false
  }

  function say(company_id: string, month: Month, percent: 80 | 100, used: number, cap: number): void {
    metrics.reached.inc({ percent })
    logger.warn({ company_id, month: monthOf(month.from_ms), used, cap, percent }, 'monthly quota reached')
  }

  function saySpent(company_id: string, month: Month, used: number, cap: number): void {
    if (month.spent) return
    month.spent = true
    say(company_id, month, 100, used, cap)
  }

  /** The first request that a month has no room for is logged by each process. */
  function refuse(company_id: string, month: Month, cap: number, at_ms: number): CodedError {
    metrics.refused.inc()
    const used = month.known + month.alone
    if (used >= cap) saySpent(company_id, month, used, cap)
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
    async reserve({ company_id, monthly_quota: cap }, n, at_ms, reasons) {
      const rejected_n = [...(reasons?.values() ?? [])].reduce((sum, one) => sum + one, 0)
      if (n === 0 && rejected_n === 0 && cap === null) return { headers: {}, giveBack: async () => {} }
      const month = findMonth(accepted, quotaKey, company_id, at_ms)
      const ttl_ms = month.end_ms - at_ms + quota_kept_ms
      const total = await take(month, n, cap, ttl_ms)
      // Without accepted events nothing is added: the step tells whether the quota is used up.
      if (total === null || (n === 0 && cap !== null && total >= cap)) throw refuse(company_id, month, cap!, at_ms)
      const bad = rejected_n > 0 ? findMonth(rejected, rejectedKey, company_id, at_ms) : null
      if (bad !== null && (await take(bad, rejected_n, cap, ttl_ms)) === null) {
        await giveBack(month, n, ttl_ms)
        throw refuseRejected(company_id, bad, cap!, total - n, at_ms)
      }
      if (cap !== null) {
        // Only the one step that crosses the mark says so.
        if (total - n < cap * warn_share && total >= cap * warn_share) say(company_id, month, 80, total, cap)
        if (total >= cap) saySpent(company_id, month, total, cap)
      }
      return {
        headers: useHeaders(total, cap),
        async giveBack() {
          await giveBack(month, n, ttl_ms)
          if (bad !== null) await giveBack(bad, rejected_n, ttl_ms)
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

function quotaMetrics(registry: Registry) {
  const registers = [registry]
  return {
    refused: new Counter({
      name: 'tributary_quota_refused_total',
      help: 'Requests answered `cap_exceeded`.',
      registers,
    }),
    reached: new Counter({
      name: 'tributary_quota_reached_total',
      help: 'Times that a company came to 80 or 100 percent of its month.',
      labelNames: ['percent'],
      registers,
    }),
    alone: new Counter({
      name: 'tributary_quota_alone_events_total',
      help: 'Events accepted or refused by what this process knows alone, because the counters were away.',
      registers,
    }),
    kept: new Counter({
      name: 'tributary_quota_kept_events_total',
      help: 'Events of failed requests that could not be given back, because the counters were away.',
      registers,
    }),
  }
}
