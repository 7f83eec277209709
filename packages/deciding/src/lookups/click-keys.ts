import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { keySet, textLiteral, textLiterals, unsigned } from '@tributary/clickhouse/literals'
import { day_ms, hour_ms, limits } from '@tributary/contracts/limits'
import type { ClickRange } from '@tributary/domain/attribute/match-click'
import { utcDay } from '@tributary/domain/utc-day'

/** A click that has a key. */
export interface ClickKey {
  app_id: string
  match_key: string
  click_id: string
}

/** Keys of one statement. */
const keys_max = 10_000
/** Clicks of one key that are fetched for all its ranges together; of a busier key each range is looked up by itself. */
const key_clicks_max = 1000
/** Ranges of busy keys in one statement. */
const busy_ranges_max = 50
/** Keys with a longer range are looked up apart from the others, which then read the parts of few days. */
const short_range_ms = 4 * day_ms

type Query = Pick<Clickhouse, 'query'>

/**
 * Clicks of apps by their keys: of each range those that `nearestClicks` takes. Others with the same keys may come with them.
 */
export async function findClickKeys(
  clickhouse: Query,
  app_ids: readonly string[],
  ranges: readonly ClickRange[],
): Promise<ClickKey[]> {
  const isLong = (of: readonly ClickRange[]) => of.some(({ from_ms, to_ms }) => to_ms - from_ms > short_range_ms)
  const byKey = [...Map.groupBy(ranges, ({ match_key }) => match_key)]
  const parts = [...Map.groupBy(byKey, ([, of]) => isLong(of)).values()]
  return (await Promise.all(parts.map((part) => findByKey(clickhouse, app_ids, part)))).flat()
}

async function findByKey(
  clickhouse: Query,
  app_ids: readonly string[],
  byKey: readonly (readonly [string, readonly ClickRange[]])[],
): Promise<ClickKey[]> {
  const found: ClickKey[] = []
  const [first_app] = app_ids
  for (let at = 0; at < byKey.length; at += keys_max) {
    const part = new Map(byKey.slice(at, at + keys_max))
    const read = await clickhouse.query<Omit<ClickKey, 'app_id'> & { app_id?: string }>(ofKeys(app_ids, part))
    // Of one app no app is read.
    const rows = read.map(({ app_id = first_app!, ...row }): ClickKey => ({ app_id, ...row }))
    const busy = [...Map.groupBy(rows, ({ app_id, match_key }) => `${app_id}/${match_key}`).values()]
      .filter(({ length }) => length > key_clicks_max)
      .map(([row]) => row!)
    const isBusy = new Set(busy.map(({ app_id, match_key }) => `${app_id}/${match_key}`))
    for (const row of rows) if (!isBusy.has(`${row.app_id}/${row.match_key}`)) found.push(row)
    const wanted = busy.flatMap(({ app_id, match_key }) => part.get(match_key)!.map((range) => ({ app_id, range })))
    for (let n = 0; n < wanted.length; n += busy_ranges_max) {
      const statement = wanted.slice(n, n + busy_ranges_max).flatMap(({ app_id, range }) => ofRange(app_id, range))
      for (const row of await clickhouse.query<ClickKey>(statement.join(' UNION ALL '))) found.push(row)
    }
  }
  return found
}

/**
 * The limit is one more than a key may have, so that a busier key is known by its number of rows. Most granules hold no
 * wanted key, so the key alone is read of them (PREWHERE). Each column costs a block for each click that is found. So the app of one app
 * is left to the index (`indexHint`): it lets a few rows of others through, whose ids name no click of this app. Days stand for times: they
 * are cheap to read, and bound the parts that are read.
 */
function ofKeys(app_ids: readonly string[], byKey: ReadonlyMap<string, readonly ClickRange[]>): string {
  const ranges = [...byKey.values()].flat()
  const from_ms = ranges.reduce((ms, range) => Math.min(ms, range.from_ms), Number.POSITIVE_INFINITY)
  const to_ms = ranges.reduce((ms, range) => Math.max(ms, range.to_ms), 0)
  const ofApps = `app_id IN (${textLiterals(app_ids)})`
  const [columns, where] = app_ids.length === 1 ? ['', `indexHint(${ofApps})`] : ['app_id, ', ofApps]
  return `SELECT ${columns}toString(match_key) AS match_key, click_id FROM click_keys_v1 AS k
    PREWHERE k.match_key IN ${keySet(byKey.keys())}
    WHERE ${where} AND day >= ${dateSql(from_ms)} AND day <= ${dateSql(to_ms)}
    LIMIT ${key_clicks_max + 1} BY ${columns}k.match_key`
}

/** SQL of the UTC date of a time; of one that no date can have, the nearest. */
const dateSql = (ms: number): string => textLiteral(utcDay(Math.min(Math.max(ms, 0), last_date_ms)))
const last_date_ms = Date.UTC(2149, 5, 6)

/** SQL of `nearestClicks`. */
function ofRange(app_id: string, range: ClickRange): string[] {
  const { match_key, from_ms, to_ms, at_ms, window_ms, window_ms_max } = range
  const window = `least(if(lookback_hours = 0, ${window_ms}, lookback_hours * ${hour_ms}), ${window_ms_max})`
  const mayWin = `filtered_reason = '' AND ${at_ms} - clicked_at_ms < ${window}`
  const part = (where: string, order: 'ASC' | 'DESC', limit: number) => `
    SELECT app_id, match_key, click_id FROM (
    SELECT DISTINCT app_id, toString(match_key) AS match_key, click_id, clicked_at_ms FROM click_keys_v1 AS k
    WHERE app_id = ${textLiteral(app_id)} AND k.match_key = ${unsigned(match_key)} AND ${where}
    ORDER BY clicked_at_ms ${order}, click_id ${order} LIMIT ${limit}
    SETTINGS optimize_read_in_order = 1)`
  const before = `clicked_at_ms >= ${from_ms} AND clicked_at_ms <= ${at_ms}`
  return [
    part(`${before} AND ${mayWin}`, 'DESC', limits.install_candidates_max),
    part(`${before} AND NOT (${mayWin})`, 'DESC', limits.candidates_lost_max),
    part(`clicked_at_ms > ${at_ms} AND clicked_at_ms < ${to_ms}`, 'ASC', limits.candidates_after_max),
  ]
}
