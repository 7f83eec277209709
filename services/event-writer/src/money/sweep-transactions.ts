import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { day_ms } from '@tributary/contracts/limits'
import type { TransactionLookup } from '@tributary/domain/money/claims'
import { cancelBeatenClaims } from '@tributary/tables/money/cancel-beaten-claims'

const clock_ms = 'toUnixTimestamp64Milli(now64(3))'
/** Rows get their time some moments before every reader sees them. This is far longer than those moments. */
const overlap_ms = 10 * 60_000
/** How far before the newest row the first run looks: a process that stopped left at most its last minute unswept. */
const first_ms = day_ms

/**
 * A sweep for transactions whose money several events have, because two partitions wrote at the same moment or a batch
 * ended half-way. Returns how many events it cancelled. The first run looks at the last day on which rows were written,
 * each later run at rows written since (by ClickHouse's clock). The next run does what a failed one left. The first
 * run, and a run after a failed one, insert again what they find cancelled. Any number of processes may sweep.
 */
export function transactionSweep(clickhouse: Clickhouse): () => Promise<number> {
  let again = true
  // Rows that a clock ahead has written come after it too.
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

// The statement compares only the key, which is a hash. Pairs would be slower, and rows of another app do no harm.
const suspectsSql = (since: string) => `
  SELECT app_id, toString(t.transaction_key) AS transaction_key
  FROM (
    SELECT app_id, transaction_key, topic, partition, offset FROM transaction_keys_v1
    UNION ALL SELECT app_id, transaction_key, topic, partition, offset FROM erased_claims_v1
  ) AS t
  WHERE t.transaction_key IN (SELECT transaction_key FROM transaction_keys_v1 WHERE written_at_ms >= ${since})
  GROUP BY app_id, t.transaction_key
  HAVING count() > 1`
