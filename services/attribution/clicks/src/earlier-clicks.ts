import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiterals } from '@tributary/clickhouse/literals'
import type { Click } from '@tributary/contracts/attribution/click'
import { limits } from '@tributary/contracts/limits'

/** A click and one of its keys. */
export interface KeyedClick {
  match_key: string
  click: Pick<Click, 'app_id' | 'click_id' | 'clicked_at_ms'>
}

/** Clicks of one statement. */
const clicks_max = 1000

/** Whether a click is one of the earliest with its key after a time: see `nearestClicks`. */
export type IsEarliestAfter = (one: KeyedClick, at_ms: number) => boolean

/**
 * Finds of each click the one that is `limits.candidates_after_max` clicks before it, among those with the same key that came
 * less than `after_ms` before: as many clicks lie between an install before that one and the click.
 */
export async function loadEarlier(
  clickhouse: Pick<Clickhouse, 'query'>,
  clicks: readonly KeyedClick[],
  after_ms: number,
): Promise<IsEarliestAfter> {
  const earlier = new Map<string, number>()
  for (let at = 0; at < clicks.length; at += clicks_max) {
    const rows = await clickhouse.query<Row>(earlierSql(clicks.slice(at, at + clicks_max), after_ms))
    for (const { app_id, match_key, click_id, earlier_ms } of rows) {
      earlier.set(`${app_id}/${match_key}/${click_id}`, Number(earlier_ms))
    }
  }
  return ({ match_key, click: { app_id, click_id } }, at_ms) =>
    (earlier.get(`${app_id}/${match_key}/${click_id}`) ?? 0) <= at_ms
}

interface Row {
  app_id: string
  match_key: string
  click_id: string
  earlier_ms: number
}

/** The table may hold a row more than once. A click without so many before it gets 0. */
function earlierSql(clicks: readonly KeyedClick[], after_ms: number): string {
  const times = clicks.map(({ click }) => click.clicked_at_ms)
  const listed = (of: (one: KeyedClick) => string) => textLiterals(clicks.map(of))
  return `
  SELECT app_id, toString(key) AS match_key, click_id, earlier_ms FROM (
    SELECT app_id, key, click_id, lagInFrame(clicked_at_ms, ${limits.candidates_after_max}, toInt64(0)) OVER (
      PARTITION BY app_id, key ORDER BY clicked_at_ms, click_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS earlier_ms
    FROM (
      SELECT DISTINCT app_id, k.match_key AS key, clicked_at_ms, click_id FROM click_keys_v1 AS k
      WHERE app_id IN (${listed(({ click }) => click.app_id)})
        AND k.match_key IN (${listed((one) => one.match_key)})
        AND clicked_at_ms > ${Math.min(...times) - after_ms} AND clicked_at_ms <= ${Math.max(...times)}
    )
  ) WHERE click_id IN (${listed(({ click }) => click.click_id)})`
}
