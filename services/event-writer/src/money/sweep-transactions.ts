import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { day_ms } from '@tributary/contracts/limits'
import type { TransactionLookup } from '@tributary/domain/money/claims'
import { cancelBeatenClaims } from '@tributary/tables/money/cancel-beaten-claims'

const clock_ms = 'toUnixTimestamp64Milli(now64(3))'
/** Far longer than it takes from the moment that rows get their time to the moment that everybody sees them. */
const overlap_ms = 10 * 60_000
/** What the first run looks at, before the newest row: a process that stopped left no more than its last minute. */
const first_ms = day_ms

/**
 * A sweep for transactions that several events have the money of, because two partitions wrote at the same moment or a
 * batch ended half-way; returns how many events it cancelled. The first run looks at the last day that anything was
 * written, each other one at what was written since (by ClickHouse's clock); the next run does what a failed one left. The first run,
 * and the one after a failed one, put in again what they find cancelled.
 * Any number of processes may sweep.
 */
export function transactionSweep(clickhouse: Clickhouse): () => Promise<number> {
  let again = true
  // Rows that a clock ahead has written are behind it too.
  let since = `(SELECT least(max(written_at_ms), ${clock_ms}) FROM transaction_keys_v1) - ${first_ms}`
  return async () => {
    const [clock] = await clickhouse.query<{ now_ms: number }>(`SELECT ${clock_ms} AS now_ms`)
    const suspects = await clickhouse.query<TransactionLookup>(suspectsSql(since))
    const found = { again }
    again = true
    const cancelled = await cancelBeatenClaims(clickhouse, suspects, found)
    again = false
    since = `${clock!.now_ms - overlap_ms}`
    return cancelled
  }
}

// The key alone is compared, which is a hash: pairs would be slower, and rows of another app do no harm.
const suspectsSql = (since: string) => `
  SELECT app_id, toString(t.transaction_key) AS transaction_key
  FROM (
    SELECT app_id, transaction_key, topic, partition, offset FROM transaction_keys_v1
    UNION ALL SELECT app_id, transaction_key, topic, partition, offset FROM erased_claims_v1
  ) AS t
  WHERE t.transaction_key IN (SELECT transaction_key FROM transaction_keys_v1 WHERE written_at_ms >= ${since})
  GROUP BY app_id, t.transaction_key
  HAVING count() > 1`
