import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'

/** By app the first UTC day (`YYYY-MM-DD`) whose raw events retention has not deleted; apps without an entry have all. */
export type RawExpired = ReadonlyMap<string, string>

/** Reads what `markRawExpired` wrote. It is there before the first event is deleted. */
export async function readRawExpired(clickhouse: Pick<Clickhouse, 'query'>): Promise<RawExpired> {
  const rows = await clickhouse.query<{ app_id: string; before: string }>(
    `SELECT app_id, toString(max(expired_before)) AS before FROM raw_expired_v1 GROUP BY app_id ORDER BY app_id`,
  )
  return new Map(rows.map(({ app_id, before }) => [app_id, before]))
}

/**
 * A mark as far as it tells what retention deletes by a right clock. A run whose clock was ahead marks days that have not come, and
 * the next run takes that back.
 */
export function notAhead(before: string, now_ms: number): string {
  const today = new Date(now_ms).toISOString().slice(0, 10)
  return before < today ? before : today
}

/** Records that the raw events of apps are deleted up to a day; durable when this resolves. An earlier day changes nothing. */
export async function markRawExpired(clickhouse: Pick<Clickhouse, 'insert'>, expired: RawExpired): Promise<void> {
  if (expired.size === 0) return
  const lines = [...expired].map((row) => JSON.stringify(row)).join('\n')
  const token = `raw-expired/${crypto.randomUUID()}`
  await clickhouse.insert({ table: 'raw_expired_v1', columns: ['app_id', 'expired_before'], lines, token })
}

/** SQL of a value that each app has of its own, for the app of a row. The values are SQL. */
export function byAppSql(values: ReadonlyMap<string, string>, otherwise: string): string {
  if (values.size === 0) return otherwise
  return `transform(toString(app_id), [${textLiterals(values.keys())}], [${[...values.values()].join(', ')}], ${otherwise})`
}

/** SQL condition for rows of a column of days that are not expired. */
export const isKeptSql = (expired: RawExpired, day: string): string =>
  `${day} >= ${byAppSql(new Map([...expired].map(([app_id, before]) => [app_id, `toDate(${textLiteral(before)})`])), 'toDate(0)')}`
