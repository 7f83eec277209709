import { randomUUID } from 'node:crypto'
import type { Broker } from '@tributary/broker/broker'
import { firstUnread } from '@tributary/broker/unread'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { consumers } from '@tributary/contracts/consumers'
import { limits } from '@tributary/contracts/limits'
import type { KeyValue } from '@tributary/key-value/key-value'
import { listAppCompanies } from '@tributary/tenancy/companies/tenants'
import { monthEndMs, monthOf, quota_kept_ms, quotaKey } from '@tributary/tenancy/quota/quota-key'
import type { Pool } from 'pg'

export interface ReconcileDeps {
  pool: Pick<Pool, 'query'>
  clickhouse: Pick<Clickhouse, 'query'>
  broker: Pick<Broker, 'groupOffsets'>
  keyValue: Pick<KeyValue, 'mark' | 'reconcile'>
  now: () => number
  /** Resolves early when the signal ends. */
  pause(ms: number, signal: AbortSignal): Promise<void>
}

/** Maximum time that a Redis that lost its counters goes without them. */
const step_ms = 5000
/** A month that has just ended is still reconciled: its last events may be on their way. */
const look_back_ms = 3600 * 1000

/**
 * Reconciles the counters of accepted events with what the tables counted (docs/decisions/door.md#the-quota-is-reconciled-at-checkpoints): one
 * round, or none when the signal ends first. A counter has too much after a crash, a replay or duplicates; too little after Redis was away.
 *
 * The order makes it exact. An event that the tables lack in step 5 was not accepted before step 1, so whatever a mark
 * has above their count is wrong:
 * 1. mark each counter; what is given back from now on lowers its mark too
 * 2. wait until every request that had reserved by then has published, given back or crashed
 * 3. note the end of the log
 * 4. wait until the event-writer has committed up to it
 * 5. read the tables; events reserved since step 1 may be among them, then less is taken off
 * 6. take off what the marks have above that; what was reserved since step 1 stays
 * A request that takes longer than step 2 allows has its events taken off here and added again once they are counted.
 * A crash leaves marks, which the next round replaces.
 */
export async function reconcileQuota(deps: ReconcileDeps, signal: AbortSignal): Promise<void> {
  const { keyValue, broker, now, pause } = deps
  const round = monthsToReconcile(now())
  const mark_id = randomUUID()
  await raise(deps)
  const marked = await markCounters(deps, round, mark_id) // 1.
  const marked_at_ms = now()
  let ends: Map<number, number> | null = null
  for (;;) {
    await pause(step_ms, signal)
    if (signal.aborted) return
    await raise(deps)
    // The clock went back: the next round marks anew, rather than wait until the clock is here again.
    if (now() < marked_at_ms) return
    if (now() - marked_at_ms < limits.reservation_ms_max) continue // 2.
    const offsets = await broker.groupOffsets(consumers.eventWriter.name, consumers.eventWriter.topic.name)
    ends ??= new Map(offsets.map(({ partition, end }) => [partition, end])) // 3.
    if (offsets.every((of) => firstUnread(of) >= (ends?.get(of.partition) ?? 0))) break // 4.
  }
  const counted = await readCounted(deps, round) // 5.
  await Promise.all(
    marked.map(({ key, ttl_ms }) => keyValue.reconcile(key, counted.get(key)?.events ?? 0, mark_id, ttl_ms)), // 6.
  )
}

interface CountedMonth {
  key: string
  ttl_ms: number
  events: number
}

/** A moment of each month. */
const monthsToReconcile = (now_ms: number): number[] => [
  ...new Map([now_ms - look_back_ms, now_ms].map((at_ms) => [monthOf(at_ms), at_ms])).values(),
]

/** Raises every counter to what the tables hold: rebuilds those that Redis lost, adds what was accepted without it. */
async function raise(deps: ReconcileDeps): Promise<void> {
  const counted = await readCounted(deps, monthsToReconcile(deps.now()))
  await Promise.all(
    [...counted.values()].map(({ key, events, ttl_ms }) => deps.keyValue.reconcile(key, events, null, ttl_ms)),
  )
}

/** Marks the counters of all companies, and returns those that there are. */
async function markCounters({ pool, keyValue, now }: ReconcileDeps, months: readonly number[], mark_id: string) {
  const companies = new Set((await listAppCompanies(pool)).values())
  const counters = months.flatMap((at_ms) => {
    const ttl_ms = monthEndMs(at_ms) + quota_kept_ms - now()
    return [...companies].map((company_id) => ({ key: quotaKey(company_id, at_ms), ttl_ms }))
  })
  const totals = await Promise.all(counters.map(({ key }) => keyValue.mark(key, mark_id)))
  return counters.filter((_, at) => totals[at] !== null)
}

/** What the tables counted for each company and month, by the key of its counter. */
async function readCounted({ pool, clickhouse, now }: ReconcileDeps, months: readonly number[]) {
  const counted = new Map<string, CountedMonth>()
  const companyOf = await listAppCompanies(pool)
  for (const at_ms of months) {
    const received = await clickhouse.query<{ app_id: string; events: number }>(
      `SELECT app_id, sum(events) AS events FROM events_received_per_day_v1
       WHERE received_day >= {first_day:Date} AND received_day < addMonths({first_day:Date}, 1) GROUP BY app_id`,
      { first_day: `${monthOf(at_ms)}-01` },
    )
    const ttl_ms = monthEndMs(at_ms) + quota_kept_ms - now()
    for (const { app_id, events } of received) {
      const company_id = companyOf.get(app_id)
      if (company_id === undefined) continue
      const key = quotaKey(company_id, at_ms)
      counted.set(key, { key, ttl_ms, events: events + (counted.get(key)?.events ?? 0) })
    }
  }
  return counted
}
