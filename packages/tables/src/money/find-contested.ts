import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { TransactionLookup } from '@tributary/domain/money/claims'

/** Transactions with several claims, one of which was written since then: SQL of Unix epoch ms by the clock of ClickHouse. */
export const findContested = (clickhouse: Pick<Clickhouse, 'query'>, since: string): Promise<TransactionLookup[]> =>
  clickhouse.query<TransactionLookup>(contestedSql(since))

// The statement compares only the key, which is a hash. Pairs would be slower, and rows of another app do no harm.
const contestedSql = (since: string) => `
  SELECT app_id, toString(t.transaction_key) AS transaction_key
  FROM (
    SELECT app_id, transaction_key, topic, partition, offset FROM transaction_keys_v1
    UNION ALL SELECT app_id, transaction_key, topic, partition, offset FROM erased_claims_v1
  ) AS t
  WHERE t.transaction_key IN (SELECT transaction_key FROM transaction_keys_v1 WHERE written_at_ms >= ${since})
  GROUP BY app_id, t.transaction_key
  HAVING count() > 1`
