import type { Pool } from 'pg'

/** Rows older than this are removed: only late objects of the last days are looked for. */
export const hours_kept_ms = 8 * 86_400_000

/** What there was of each hour (Unix epoch ms) of an app when it was compared. */
export type ReconciledHours = Map<
  number,
  {
    /** Its audit objects. */
    objects: number
    /** Events that were received on its UTC day, as the tables counted them. */
    events: number
  }
>

/** All apps from an hour on. */
export async function readReconciledHours(
  pool: Pick<Pool, 'query'>,
  since_ms: number,
): Promise<Map<string, ReconciledHours>> {
  const { rows } = await pool.query<{ app_id: string; hour_ms: number; objects: number; events: number }>(
    `SELECT app_id, hour_ms::float8 AS hour_ms, objects, events::float8 AS events FROM reconciled_hours
     WHERE hour_ms >= $1 AND app_id != ''`,
    [since_ms],
  )
  const byApp = Map.groupBy(rows, ({ app_id }) => app_id)
  return new Map([...byApp].map(([app_id, of]) => [app_id, new Map(of.map(({ hour_ms, ...then }) => [hour_ms, then]))]))
}

/** Records which hours of an app were compared; `app_id` is empty for hours that are done of all. */
export async function recordHours(pool: Pick<Pool, 'query'>, app_id: string, hours: ReconciledHours): Promise<void> {
  const counts = [...hours.values()]
  await pool.query(
    `INSERT INTO reconciled_hours (app_id, hour_ms, objects, events)
     SELECT $1, hour_ms, objects, events FROM unnest($2::bigint[], $3::integer[], $4::bigint[]) AS of(hour_ms, objects, events)
     ON CONFLICT (app_id, hour_ms) DO UPDATE SET objects = excluded.objects, events = excluded.events`,
    [app_id, [...hours.keys()], counts.map(({ objects }) => objects), counts.map(({ events }) => events)],
  )
}

/** Begin of the newest hour that is done of all apps; null without one. */
export async function newestHour(pool: Pick<Pool, 'query'>): Promise<number | null> {
  const { rows } = await pool.query<{ hour_ms: number | null }>(
    `SELECT max(hour_ms)::float8 AS hour_ms FROM reconciled_hours WHERE app_id = ''`,
  )
  return rows[0]?.hour_ms ?? null
}

/** Forgets old hours, and those from `until_ms` on: a clock was ahead, and whatever comes in them has to be compared. */
export const forgetHours = (pool: Pick<Pool, 'query'>, { now_ms, until_ms }: { now_ms: number; until_ms: number }) =>
  pool.query('DELETE FROM reconciled_hours WHERE hour_ms < $1 OR hour_ms >= $2', [now_ms - hours_kept_ms, until_ms])
