import type { Pool } from 'pg'

/** Rows older than this are removed: only late objects of the last days are looked for. */
const kept_ms = 8 * 86_400_000

/** Number of objects of each hour (Unix epoch ms) of an app when it was compared. */
export type ReconciledHours = Map<number, number>

/** All apps from an hour on. */
export async function readReconciledHours(
  pool: Pick<Pool, 'query'>,
  since_ms: number,
): Promise<Map<string, ReconciledHours>> {
  const { rows } = await pool.query<{ app_id: string; hour_ms: number; objects: number }>(
    'SELECT app_id, hour_ms::float8 AS hour_ms, objects FROM reconciled_hours WHERE hour_ms >= $1',
    [since_ms],
  )
  const byApp = Map.groupBy(rows, ({ app_id }) => app_id)
  return new Map([...byApp].map(([app_id, of]) => [app_id, new Map(of.map((row) => [row.hour_ms, row.objects]))]))
}

/** Records which hours of an app were compared; `app_id` is empty for hours that are done of all. */
export async function recordHours(
  pool: Pick<Pool, 'query'>,
  app_id: string,
  hours: ReadonlyMap<number, number>,
): Promise<void> {
  await pool.query(
    `INSERT INTO reconciled_hours (app_id, hour_ms, objects)
     SELECT $1, hour_ms, objects FROM unnest($2::bigint[], $3::integer[]) AS of(hour_ms, objects)
     ON CONFLICT (app_id, hour_ms) DO UPDATE SET objects = excluded.objects`,
    [app_id, [...hours.keys()], [...hours.values()]],
  )
}

/** Begin of the newest hour that is done of all apps; null without one. Those in the future are of a clock that was ahead. */
export async function newestHour(pool: Pick<Pool, 'query'>, now_ms: number): Promise<number | null> {
  const { rows } = await pool.query<{ hour_ms: number | null }>(
    `SELECT max(hour_ms)::float8 AS hour_ms FROM reconciled_hours WHERE app_id = '' AND hour_ms <= $1`,
    [now_ms],
  )
  return rows[0]?.hour_ms ?? null
}

export const forgetOldHours = (pool: Pick<Pool, 'query'>, now_ms: number) =>
  pool.query('DELETE FROM reconciled_hours WHERE hour_ms < $1', [now_ms - kept_ms])
