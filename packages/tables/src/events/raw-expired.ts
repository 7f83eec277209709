import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'

/** First UTC day (`YYYY-MM-DD`) of each app whose raw events are not deleted; apps without an entry have all. */
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

/** SQL of the app and UTC day (`on`) that have fewer raw events than their sums say, of some rows. */
const lackingSql = (where: string): string => `
  SELECT app_id, on FROM (
    SELECT app_id, day AS on, toInt64(sum(events)) AS n FROM events_per_day_v1 WHERE ${where} GROUP BY app_id, on
    UNION ALL
    SELECT app_id, day, -toInt64(sum(events)) FROM erased_events_v1 FINAL WHERE ${where} GROUP BY app_id, day
    UNION ALL
    SELECT app_id, day, -toInt64(count()) FROM events_raw_v1 WHERE ${where} GROUP BY app_id, day
  ) GROUP BY app_id, on HAVING sum(n) > 0`

/** Last UTC day of each app that has fewer raw events than its sums say; apps with none have no entry. */
export async function findLackingDays(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_ids: Iterable<string>,
): Promise<Map<string, string>> {
  const rows = await clickhouse.query<{ app_id: string; last: string }>(
    `SELECT app_id, toString(max(on)) AS last FROM (${lackingSql(`app_id IN (${textLiterals(app_ids)})`)}) GROUP BY app_id`,
  )
  return new Map(rows.map(({ app_id, last }) => [app_id, last]))
}

/** Those of the UTC days of an app whose raw events retention has deleted, some of them at least. */
export async function findExpiredDays(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  days: Iterable<string>,
): Promise<Set<string>> {
  const before = (await readRawExpired(clickhouse)).get(app_id) ?? ''
  const marked = [...new Set(days)].filter((day) => day < before)
  if (marked.length === 0) return new Set()
  const where = `app_id = ${textLiteral(app_id)} AND day IN (${textLiterals(marked)})`
  const rows = await clickhouse.query<{ day: string }>(`SELECT toString(on) AS day FROM (${lackingSql(where)})`)
  return new Set(rows.map(({ day }) => day))
}

/** Fills the sets of installs of some apps, days and event names again from raw events. */
export const refillSets = (clickhouse: Pick<Clickhouse, 'command'>, where: string): Promise<void> =>
  clickhouse.command(
    `INSERT INTO event_installs_per_day_v1 (app_id, day, event_name, installs)
     SELECT app_id, day, event_name, uniqExactState(install_uuid) FROM events_raw_v1
     WHERE ${where} GROUP BY app_id, day, event_name SETTINGS insert_deduplicate = 0`,
  )

/** SQL of a value that each app has of its own, for the app of a row. The values are SQL. */
export function byAppSql(values: ReadonlyMap<string, string>, otherwise: string): string {
  if (values.size === 0) return otherwise
  return `transform(toString(app_id), [${textLiterals(values.keys())}], [${[...values.values()].join(', ')}], ${otherwise})`
}

/** SQL condition for rows of a column of days that are not expired. */
export const isKeptSql = (expired: RawExpired, day: string): string =>
  `${day} >= ${byAppSql(new Map([...expired].map(([app_id, before]) => [app_id, `toDate(${textLiteral(before)})`])), 'toDate(0)')}`
