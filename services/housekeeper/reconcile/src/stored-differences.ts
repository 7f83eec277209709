import { inTransaction } from '@tributary/postgres/transaction'
import type { Pool } from 'pg'
import type { Difference } from './look/findings.ts'

/** Where differences are looked for: hours of these times, of one app or of all. Times are Unix epoch ms. */
export interface LookedRange {
  app_id?: string | undefined
  since_ms: number
  /** Exclusive. */
  until_ms: number
}

/** Keeps differences in place of those that were known of a range. */
export async function replaceDifferences(
  pool: Pool,
  { app_id, since_ms, until_ms }: LookedRange,
  differences: readonly Difference[],
  now_ms: number,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query(
      `DELETE FROM reconcile_differences WHERE hour_ms >= $1 AND hour_ms < $2 AND ($3::text IS NULL OR app_id = $3)`,
      [since_ms, until_ms, app_id ?? null],
    )
    for (const one of differences) await addDifference(client, one, now_ms)
  })
}

/** Keeps differences beside those that are known. */
export async function addDifferences(
  pool: Pick<Pool, 'query'>,
  differences: readonly Difference[],
  now_ms: number,
): Promise<void> {
  for (const one of differences) await addDifference(pool, one, now_ms)
}

const addDifference = (client: Pick<Pool, 'query'>, one: Difference, now_ms: number) =>
  client.query(
    `INSERT INTO reconcile_differences (app_id, hour_ms, store, is_surplus, expected, found, examples, found_at_ms, looked_at_ms)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
     ON CONFLICT (app_id, hour_ms, store, is_surplus) DO UPDATE
       SET expected = excluded.expected, found = excluded.found, examples = excluded.examples, looked_at_ms = excluded.looked_at_ms`,
    [
      ...[one.app_id, one.hour_ms, one.store, one.found > one.expected, one.expected, one.found],
      ...[JSON.stringify(one.examples), now_ms],
    ],
  )

/** Number of differences by store. */
export async function countDifferences(pool: Pick<Pool, 'query'>): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ store: string; count: number }>(
    'SELECT store, count(*)::float8 AS count FROM reconcile_differences GROUP BY store ORDER BY store',
  )
  return new Map(rows.map(({ store, count }) => [store, count]))
}

/** An app (empty: none) and the begin of a UTC day. */
export interface OpenDay {
  app_id: string
  day_ms: number
}

/** Days with differences, those first that were looked at least lately, and not since `before_ms`. */
export async function findOpenDays(
  pool: Pick<Pool, 'query'>,
  { before_ms, days_max }: { before_ms: number; days_max: number },
): Promise<OpenDay[]> {
  const { rows } = await pool.query<OpenDay>(
    `SELECT app_id, (hour_ms / 86400000 * 86400000)::float8 AS day_ms FROM reconcile_differences
     GROUP BY 1, 2 HAVING max(looked_at_ms) < $1 ORDER BY max(looked_at_ms) LIMIT $2`,
    [before_ms, days_max],
  )
  return rows
}
