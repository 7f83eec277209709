import { day_ms } from '@tributary/contracts/limits'
import { type ChooseDeps, chooseAgain } from '@tributary/tables/receipts/choose-money'
import { findJoined } from '@tributary/tables/receipts/find-claims'

const clock_ms = 'toUnixTimestamp64Milli(now64(3))'
/** Rows get their time some moments before every reader sees them. This is far longer than those moments. */
const overlap_ms = 10 * 60_000
/** How far before the newest row the first run looks: a process that stopped left at most its last minute. */
const first_ms = day_ms

/**
 * A job for claims without a receipt that came after the verdict on their transaction: the money is chosen once more. Gives back how many
 * transactions it looked at. The next run does what a failed one left. Any number of processes may run it.
 */
export function lateClaimsJoiner(deps: ChooseDeps): () => Promise<number> {
  let since = `(SELECT least(max(written_at_ms), ${clock_ms}) FROM transaction_claims_v1) - ${first_ms}`
  /** What was chosen with all claims up to a time, of the overlap. */
  let chosen = new Map<string, number>()
  return async () => {
    const [clock] = await deps.clickhouse.query<{ now_ms: number; since_ms: number }>(
      `SELECT ${clock_ms} AS now_ms, toInt64(${since}) AS since_ms`,
    )
    const joined = await findJoined(deps.clickhouse, clock!.since_ms)
    const nameOf = ({ app_id, id }: { app_id: string; id: string }) => `${app_id}/${id}`
    const news = joined.filter((one) => chosen.get(nameOf(one)) !== one.written_ms)
    for (const [app_id, of] of Map.groupBy(news, (one) => one.app_id)) {
      await chooseAgain(
        deps,
        app_id,
        of.map(({ id }) => id),
      )
    }
    chosen = new Map(joined.map((one) => [nameOf(one), one.written_ms]))
    since = `${clock!.now_ms - overlap_ms}`
    return news.length
  }
}
