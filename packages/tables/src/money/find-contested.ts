import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { TransactionLookup } from '@tributary/domain/money/claims'

/**
 * Transactions with several claims, one of which was written since then: SQL of Unix epoch ms by the clock of ClickHouse. `among` is a
 * condition on `transaction_key`.
 */
export const findContested = (
  clickhouse: Pick<Clickhouse, 'query'>,
  since: string,
  among = '1',
): Promise<TransactionLookup[]> => clickhouse.query<TransactionLookup>(contestedSql(since, among))

/** The same of all times, in parts of bounded size. */
export async function* findAllContested(clickhouse: Pick<Clickhouse, 'query'>): AsyncGenerator<TransactionLookup[]> {
  const [row] = await clickhouse.query<{ claims: number }>('SELECT count() AS claims FROM transaction_keys_v1')
  const parts = Math.ceil((row?.claims ?? 0) / claims_together)
  for (let part = 0; part < parts; part += 1)
    yield await findContested(clickhouse, '0', `t.transaction_key % ${parts} = ${part}`)
}

/** Claims that one statement compares. */
const claims_together = 200_000

// The statement compares only the key, which is a hash. Pairs would be slower, and rows of another app do no harm.
const contestedSql = (since: string, among: string) => `
  SELECT app_id, toString(t.transaction_key) AS transaction_key
  FROM (
    SELECT app_id, transaction_key, topic, partition, offset FROM transaction_keys_v1
    UNION ALL SELECT app_id, transaction_key, topic, partition, offset FROM erased_claims_v1
  ) AS t
  WHERE ${among} AND t.transaction_key IN (
    SELECT transaction_key FROM transaction_keys_v1 AS t WHERE written_at_ms >= ${since} AND ${among})
  GROUP BY app_id, t.transaction_key
  HAVING count() > 1`
