import { type ChooseDeps, chooseAgain } from '@tributary/tables/receipts/choose-money'
import { findJoined } from '@tributary/tables/receipts/find-claims'

/** Rows get their time some moments before every reader sees them. This is far longer than those moments. */
const overlap_ms = 10 * 60_000

/**
 * A job for claims without a receipt that came after the verdict on their transaction: the money is chosen once more. Gives back how many
 * transactions it looked at. It begins where a run of any process has ended, however long ago; the next run does what a failed one left.
 * An app whose money cannot be chosen delays no other.
 */
export function lateClaimsJoiner({ clickhouse, postgres, now }: ChooseDeps): () => Promise<number> {
  /** What was chosen with all claims up to a time, of the overlap. */
  let chosen = new Map<string, number>()
  /** A run that broke off may have left rows without their stamps. */
  let again = true
  return async () => {
    const [clock] = await clickhouse.query<{ now_ms: number }>('SELECT toUnixTimestamp64Milli(now64(3)) AS now_ms')
    const { rows } = await postgres.query<{ until_ms: number }>(
      'SELECT until_ms::float8 AS until_ms FROM joined_claims',
    )
    const joined = await findJoined(clickhouse, (rows[0]?.until_ms ?? 0) - overlap_ms)
    const nameOf = ({ app_id, id }: { app_id: string; id: string }) => `${app_id}/${id}`
    const news = joined.filter((one) => chosen.get(nameOf(one)) !== one.written_ms)
    const failures: unknown[] = []
    for (const [app_id, of] of Map.groupBy(news, (one) => one.app_id)) {
      const ids = of.map(({ id }) => id)
      await chooseAgain({ clickhouse, postgres, now }, app_id, ids, { again }).catch((err: unknown) =>
        failures.push(err),
      )
    }
    again = failures.length > 0
    if (again) throw failures[0]
    chosen = new Map(joined.map((one) => [nameOf(one), one.written_ms]))
    await postgres.query(
      `INSERT INTO joined_claims (until_ms) VALUES ($1)
       ON CONFLICT (is_one) DO UPDATE SET until_ms = greatest(joined_claims.until_ms, excluded.until_ms)`,
      [clock!.now_ms],
    )
    return news.length
  }
}
