import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { TransactionAsk } from '@tributary/clickhouse/transaction-keys'
import { cancelLaterClaims } from './cancel-later-claims.ts'

/** Far longer than it takes from the moment that rows get their time to the moment that everybody sees them. */
const overlap_ms = 10 * 60_000

/**
 * A sweep for transactions that events of several partitions counted, because they were written at the same moment;
 * gives back how many it took back. The first run looks at all transactions, each other one at what was written since
 * (by ClickHouse's clock); what a failed run left is done by the next. Any number of processes may sweep.
 */
export function transactionSweep(clickhouse: Clickhouse): () => Promise<number> {
  let since_ms: number | null = null
  return async () => {
    const [clock] = await clickhouse.query<{ now_ms: number }>('SELECT toUnixTimestamp64Milli(now64(3)) AS now_ms')
    const cancelled = await cancelLaterClaims(clickhouse, await suspects(clickhouse, since_ms))
    since_ms = clock!.now_ms - overlap_ms
    return cancelled
  }
}

function suspects(clickhouse: Clickhouse, since_ms: number | null): Promise<TransactionAsk[]> {
  if (since_ms !== null) {
    return clickhouse.query(`
      SELECT DISTINCT app_id, toString(transaction_key) AS transaction_key
      FROM transaction_keys_v1 WHERE written_at_ms >= ${since_ms}`)
  }
  // In the order of the table, so that memory does not grow with it; those already settled are few beside it.
  return clickhouse.query(`
    SELECT claimed.app_id AS app_id, toString(claimed.key) AS transaction_key
    FROM (
      SELECT app_id, transaction_key AS key, count() AS claims FROM transaction_keys_v1
      GROUP BY app_id, transaction_key HAVING claims > 1
    ) AS claimed
    LEFT JOIN (
      SELECT app_id, transaction_key AS key, count() AS claims FROM revenue_cancelled_v1 FINAL
      GROUP BY app_id, transaction_key
    ) AS cancelled USING (app_id, key)
    WHERE claimed.claims > 1 + cancelled.claims
    SETTINGS optimize_aggregation_in_order = 1, join_use_nulls = 0`)
}
