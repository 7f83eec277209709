import { CodedError } from '@tributary/contracts/errors'
import type { KeyValue } from '@tributary/key-value/key-value'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import type { CountersBreaker } from './counters-breaker.ts'
import { monthEndMs, monthStartMs, quota_kept_ms, quotaKey } from './quota-key.ts'

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
  /** Reserves `n` events of the month in which they were received, all or none. Throws `cap_exceeded`. */
  reserve(company: Company, n: number, received_at_ms: number): Promise<Reservation>
}

/** What this process knows of one company and month. */
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
  /** That the whole quota is used up was said. */
  spent: boolean
}

interface Waiting {
  n: number
  cap: number | null
  resolve(total: number | null): void
}

const warn_share = 0.8

/**
 * The monthly quota (decisions.md "Quota"), one atomic step of the shared counters, so that gateways that race for the
 * last events never pass the cap. Requests that come while a step is under way share the next one. While the counters
 * are away the last known total and a local count decide (data-model.md "Counters").
 */
export function createQuota({ keyValue, steady, logger, registry }: QuotaDeps): Quota {
  const months = new Map<string, Month>()
  const metrics = quotaMetrics(registry)

  function monthOf(company_id: string, at_ms: number): Month {
    const latest = months.get(company_id)
    if (latest !== undefined && at_ms >= latest.from_ms && at_ms < latest.end_ms) return latest
    const span = { from_ms: monthStartMs(at_ms), end_ms: monthEndMs(at_ms) }
    const month = {
      ...{ key: quotaKey(company_id, at_ms), ...span },
      ...{ waiting: [], running: false, known: 0, alone: 0, spent: false },
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

  function say(company_id: string, month: Month, reached: 80 | 100, used: number, cap: number): void {
    metrics.reached.inc({ percent: reached })
    // The last request need not fit: 950 of 1000 are 95 percent although no more is taken.
    const percent = cap === 0 ? 100 : Math.floor((used * 100) / cap)
    logger.warn({ company_id, month: month.key.slice(-'yyyy-mm'.length), used, cap, percent }, 'monthly quota reached')
  }

  /** A quota that no request fits under any more is said once by each process. */
  function sayIfSpent(company_id: string, month: Month, used: number, cap: number): void {
    if (month.spent) return
    month.spent = true
    say(company_id, month, 100, used, cap)
  }

  return {
    async reserve({ company_id, monthly_quota: cap }, n, at_ms) {
      if (n === 0) return { headers: {}, giveBack: async () => {} }
      const month = monthOf(company_id, at_ms)
      const ttl_ms = month.end_ms - at_ms + quota_kept_ms
      const { promise, resolve } = Promise.withResolvers<number | null>()
      month.waiting.push({ n, cap, resolve })
      if (!month.running) void drain(month, ttl_ms)
      const total = await promise
      if (total === null) {
        metrics.refused.inc()
        const used = month.known + month.alone
        sayIfSpent(company_id, month, used, cap!)
        throw refusal(cap!, used, at_ms)
      }
      if (cap !== null) {
        // Only the one step that crosses the mark says so.
        if (total - n < cap * warn_share && total >= cap * warn_share) say(company_id, month, 80, total, cap)
        if (total >= cap) sayIfSpent(company_id, month, total, cap)
      }
      return {
        headers: useHeaders(total, cap),
        async giveBack() {
          if (month.alone >= n) month.alone -= n
          else if ((await steady(() => keyValue.addCapped(month.key, -n, null, ttl_ms))) === null) {
            metrics.kept.inc(n)
          }
        },
      }
    },
  }
}

const useHeaders = (used: number, cap: number | null): Record<string, string> => ({
  'x-service-quota-used': String(used),
  ...(cap === null ? {} : { 'x-service-quota-limit': String(cap) }),
})

function refusal(cap: number, used: number, at_ms: number): CodedError {
  const wait_s = Math.max(1, Math.ceil((monthEndMs(at_ms) - at_ms) / 1000))
  return new CodedError('cap_exceeded', { headers: { ...useHeaders(used, cap), 'retry-after': String(wait_s) } })
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
