import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { utcDay } from '@tributary/domain/utc-day'

/** By app the first UTC day (`YYYY-MM-DD`) whose raw events retention has not deleted; apps without an entry have all. */
export type RawExpired = ReadonlyMap<string, string>

/** SQL of the mark of some rows of `raw_expired_v1`, those of one app. */
export const newestMark = 'argMax(expired_before, number)'

/** Reads what `markRawExpired` wrote. It is there before the first event is deleted. */
export async function readRawExpired(clickhouse: Pick<Clickhouse, 'query'>): Promise<RawExpired> {
  const rows = await clickhouse.query<{ app_id: string; before: string }>(
    `SELECT app_id, toString(${newestMark}) AS before FROM raw_expired_v1 GROUP BY app_id ORDER BY app_id`,
  )
  return new Map(rows.map(({ app_id, before }) => [app_id, before]))
}

/**
 * A mark as far as it tells what retention deletes by a right clock. A run whose clock was ahead marks days that have not come, and
 * the next run takes that back.
 */
export const notAhead = (before: string, now_ms: number): string => [before, utcDay(now_ms)].toSorted()[0]!

/**
 * Records up to which day the raw events of apps may be deleted, in place of what was recorded; durable when this resolves. One process
 * at a time.
 */
export async function markRawExpired(
  clickhouse: Pick<Clickhouse, 'query' | 'insert'>,
  expired: RawExpired,
): Promise<void> {
  if (expired.size === 0) return
  const [last] = await clickhouse.query<{ number: string }>(
    'SELECT toString(max(number)) AS number FROM raw_expired_v1',
  )
  const number = `${BigInt(last?.number ?? 0) + 1n}`
  const lines = [...expired].map(([app_id, before]) => JSON.stringify([app_id, before, number])).join('\n')
  const token = `raw-expired/${crypto.randomUUID()}`
  await clickhouse.insert({ table: 'raw_expired_v1', columns: ['app_id', 'expired_before', 'number'], lines, token })
}

/** By app the last UTC day that has fewer raw events than its sums say, of those from `from` on; apps with none have no entry. */
export async function findLackingDays(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_ids: Iterable<string>,
  from: string,
): Promise<Map<string, string>> {
  const where = `app_id IN (${textLiterals(app_ids)}) AND day >= ${textLiteral(from)}`
  const rows = await clickhouse.query<{ app_id: string; last: string }>(
    `SELECT app_id, toString(max(on)) AS last FROM (
       SELECT app_id, on, sum(n) AS lacking FROM (
         SELECT app_id, day AS on, toInt64(sum(events)) AS n FROM events_per_day_v1 WHERE ${where} GROUP BY app_id, on
         UNION ALL
         SELECT app_id, day, -toInt64(sum(events)) FROM erased_events_v1 FINAL WHERE ${where} GROUP BY app_id, day
         UNION ALL
         SELECT app_id, day, -toInt64(count()) FROM events_raw_v1 WHERE ${where} GROUP BY app_id, day
       ) GROUP BY app_id, on HAVING lacking > 0
     ) GROUP BY app_id`,
  )
  return new Map(rows.map(({ app_id, last }) => [app_id, last]))
}

/** SQL of a value that each app has of its own, for the app of a row. The values are SQL. */
export function byAppSql(values: ReadonlyMap<string, string>, otherwise: string): string {
  if (values.size === 0) return otherwise
  return `transform(toString(app_id), [${textLiterals(values.keys())}], [${[...values.values()].join(', ')}], ${otherwise})`
}

/** SQL condition for rows of a column of days that are not expired. */
export const isKeptSql = (expired: RawExpired, day: string): string =>
  `${day} >= ${byAppSql(new Map([...expired].map(([app_id, before]) => [app_id, `toDate(${textLiteral(before)})`])), 'toDate(0)')}`
