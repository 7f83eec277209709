import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import type { Click } from '@tributary/contracts/attribution/click'

type ClickId = Pick<Click, 'app_id' | 'click_id'>

/** Clicks of one statement. */
const clicks_max = 5000

/**
 * When each click was stored first; `new_ms` for clicks that are not there. Ids begin with the time of the click, so new
 * ones are near the end of the table: a look-up by the range of a batch reads the last seconds alone, and finds no key
 * one by one.
 */
export async function findClickStamps(
  clickhouse: Pick<Clickhouse, 'query'>,
  clicks: readonly ClickId[],
  new_ms: number,
): Promise<(click: ClickId) => number> {
  const known = new Map<string, number>()
  for (const [app_id, of] of Map.groupBy(clicks, (click) => click.app_id)) {
    const ids = of.map(({ click_id }) => click_id).toSorted()
    for (let at = 0; at < ids.length; at += clicks_max) {
      const some = ids.slice(at, at + clicks_max)
      for (const { click_id, stored_at_ms } of await clickhouse.query<Row>(stampsSql(app_id, some))) {
        known.set(`${app_id}/${click_id}`, Number(stored_at_ms))
      }
    }
  }
  return ({ app_id, click_id }) => known.get(`${app_id}/${click_id}`) ?? new_ms
}

interface Row {
  click_id: string
  stored_at_ms: number
}

const stampsSql = (app_id: string, ids: readonly string[]): string =>
  `SELECT click_id, min(stored_at_ms) AS stored_at_ms FROM clicks_raw_v1
   WHERE app_id = ${textLiteral(app_id)} AND click_id BETWEEN ${textLiteral(ids[0]!)} AND ${textLiteral(ids.at(-1)!)}
     AND click_id IN (${textLiterals(ids)})
   GROUP BY click_id`
