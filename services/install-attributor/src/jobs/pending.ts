import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Wish } from '@tributary/contracts/attribution/found'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { publishWishes } from '../steps/publish.ts'

export interface JobDeps {
  clickhouse: Clickhouse
  broker: Broker
  now: () => number
}

/** Wishes of one run; the next one publishes the rest. */
const wishes_max = 10_000
/** What a run looks at once more: install-writer may write a decision for as long as the log keeps it. */
const overlap_ms = topics.installsAttributed.retention_ms

/**
 * Wishes for installs that have waited long enough for a click that we signed (docs/rules.md#windows); returns how many. Any
 * number of processes may run it.
 */
export function pendingJob({ clickhouse, broker, now }: JobDeps): () => Promise<number> {
  let from_ms = 0
  return async () => {
    const due_ms = now() - limits.pending_ms_max
    const rows = await clickhouse.query<Pick<Wish, 'app_id' | 'install_uuid'>>(
      `SELECT app_id, install_uuid FROM installs_pending_v1 FINAL
       WHERE received_at_ms >= {from_ms:Int64} AND received_at_ms <= {due_ms:Int64}
       GROUP BY app_id, install_uuid, received_at_ms HAVING sum(sign) > 0
       ORDER BY received_at_ms LIMIT {wishes_max:UInt32}`,
      { from_ms, due_ms, wishes_max },
    )
    await publishWishes(
      broker,
      rows.map((row) => ({ kind: 'wish', v: 1, reason: 'pending', ...row })),
    )
    if (rows.length < wishes_max) from_ms = Math.max(0, due_ms - overlap_ms)
    return rows.length
  }
}
