import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { KeyValue } from '@tributary/key-value/key-value'
import { listAppCompanies } from '@tributary/postgres/tenants'
import { monthEndMs, monthOf, quota_kept_ms, quotaKey } from '@tributary/service-kit/quota-key'
import type { Pool } from 'pg'

export interface ReconcileDeps {
  pool: Pool
  clickhouse: Pick<Clickhouse, 'query'>
  keyValue: Pick<KeyValue, 'raiseTo'>
  now: () => number
}

/** Between two runs: how long a Redis that lost its counters goes without them. */
export const reconcile_pause_ms = 10_000
/** A month that has just ended is still looked at: its last events may be on their way. */
const look_back_ms = 3600 * 1000

/**
 * Raises every company's count of this month to what ClickHouse holds of it: rebuilds the counters that Redis lost, and
 * adds what was accepted while Redis was away. Never lowers one: what is reserved is not in ClickHouse yet.
 */
export async function reconcileQuota({ pool, clickhouse, keyValue, now }: ReconcileDeps): Promise<void> {
  const months = new Map([now() - look_back_ms, now()].map((at_ms) => [monthOf(at_ms), at_ms]))
  const companyOf = await listAppCompanies(pool)
  for (const [month, at_ms] of months) {
    const received = await clickhouse.query<{ app_id: string; events: number }>(
      `SELECT app_id, sum(events) AS events FROM events_received_per_day_v1
       WHERE received_day >= {first_day:Date} AND received_day < addMonths({first_day:Date}, 1) GROUP BY app_id`,
      { first_day: `${month}-01` },
    )
    const totals = new Map<string, number>()
    for (const { app_id, events } of received) {
      const company_id = companyOf.get(app_id)
      if (company_id !== undefined) totals.set(company_id, (totals.get(company_id) ?? 0) + events)
    }
    const ttl_ms = monthEndMs(at_ms) + quota_kept_ms - now()
    await Promise.all(
      [...totals].map(([company_id, total]) => keyValue.raiseTo(quotaKey(company_id, at_ms), total, ttl_ms)),
    )
  }
}
