import { limits } from '@tributary/contracts/limits'
import { inTransaction } from '@tributary/postgres/transaction'
import type { Pool } from 'pg'
import type { Difference } from './look/findings.ts'

/** Where differences are looked for: hours of these times, of one app or of all. Times are Unix epoch ms. */
export interface LookedRange {
  /** Empty: those of no app. */
  app_id?: string | undefined
  since_ms: number
  /** Exclusive. */
  until_ms: number
  /** When the look began: what was added since then is left. */
  began_ms: number
}

type Client = Pick<Pool, 'query'>

/** Differences that nobody has looked at for so long are forgotten: nothing compares any more. */
const kept_ms = 92 * 86_400_000

/** Keeps differences in place of those that were known of a range. Since when one is known stays. */
export async function replaceDifferences(
  pool: Pool,
  { app_id, since_ms, until_ms, began_ms }: LookedRange,
  differences: readonly Difference[],
  now_ms: number,
): Promise<void> {
  const kept = differences.slice(0, limits.reconcile_differences_max)
  await inTransaction(pool, async (client) => {
    await client.query(
      `DELETE FROM reconcile_differences AS known
       WHERE hour_ms >= $1 AND hour_ms < $2 AND ($3::text IS NULL OR app_id = $3)
         AND (looked_at_ms <= $4 OR looked_at_ms > $5)
         AND NOT EXISTS (SELECT 1 FROM ${given(6)} WHERE found.app_id = known.app_id AND found.hour_ms = known.hour_ms
           AND found.store = known.store AND found.is_surplus = known.is_surplus)`,
      [since_ms, until_ms, app_id ?? null, began_ms, now_ms, ...columnsOf(kept)],
    )
    await store(
      client,
      kept,
      now_ms,
      'examples = excluded.examples, expected = excluded.expected, found = excluded.found',
    )
  })
}

/**
 * Keeps differences beside those that are known. One that says something else than the known one of its hour and store is kept with it, and
 * has the day compared again at once: only both together have the right numbers.
 */
export const addDifferences = (pool: Client, differences: readonly Difference[], now_ms: number): Promise<void> =>
  store(
    pool,
    differences.slice(0, limits.reconcile_differences_max),
    now_ms,
    `expected = greatest(known.expected, excluded.expected), found = excluded.found,
     examples = (SELECT jsonb_agg(DISTINCT one) FROM jsonb_array_elements(known.examples || excluded.examples) AS one)`,
    'CASE WHEN known.examples @> excluded.examples THEN excluded.looked_at_ms ELSE 0 END',
  )

/** SQL of differences as rows, of the parameters from a number on that `columnsOf` gives. */
const given = (first: number): string =>
  `unnest(${['text[]', 'bigint[]', 'text[]', 'boolean[]', 'float8[]', 'float8[]', 'jsonb[]']
    .map((type, at) => `$${first + at}::${type}`)
    .join(', ')}) AS found(app_id, hour_ms, store, is_surplus, expected, found, examples)`

const columnsOf = (differences: readonly Difference[]) => [
  differences.map(({ app_id }) => app_id),
  differences.map(({ hour_ms }) => hour_ms),
  differences.map((one) => one.store),
  differences.map(({ expected, found }) => found > expected),
  differences.map(({ expected }) => expected),
  differences.map(({ found }) => found),
  differences.map(({ examples }) => JSON.stringify(examples)),
]

/** At most `reconcile_differences_max` are stored, and as many again of one look. */
async function store(
  client: Client,
  differences: readonly Difference[],
  now_ms: number,
  changes: string,
  looked_at = 'excluded.looked_at_ms',
): Promise<void> {
  if (differences.length === 0) return
  await client.query(
    `INSERT INTO reconcile_differences AS known (app_id, hour_ms, store, is_surplus, expected, found, examples, found_at_ms, looked_at_ms)
     SELECT found.*, $8::bigint, $8::bigint FROM ${given(1)}
     WHERE (SELECT count(*) FROM reconcile_differences) < $9
       OR EXISTS (SELECT 1 FROM reconcile_differences AS old WHERE old.app_id = found.app_id AND old.hour_ms = found.hour_ms)
     ON CONFLICT (app_id, hour_ms, store, is_surplus) DO UPDATE SET ${changes}, looked_at_ms = ${looked_at}`,
    [...columnsOf(differences), now_ms, limits.reconcile_differences_max],
  )
}

/** Number of differences by store. */
export async function countDifferences(pool: Client): Promise<Map<string, number>> {
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

/** How long a day with differences is left alone, ms: for as long as its newest one is known, within these. */
const again_ms_min = 2 * 3_600_000
const again_ms_max = 24 * 3_600_000

/**
 * Days with differences that are compared again, those first that were looked at least lately. The time between two looks doubles. One that
 * was looked at in the future, by a clock that was ahead, is due.
 */
export async function findOpenDays(
  pool: Client,
  { now_ms, days_max }: { now_ms: number; days_max: number },
): Promise<OpenDay[]> {
  const { rows } = await pool.query<OpenDay>(
    `SELECT app_id, (hour_ms / 86400000 * 86400000)::float8 AS day_ms FROM reconcile_differences
     GROUP BY 1, 2
     HAVING min(looked_at_ms) > $1
       OR min(looked_at_ms) + greatest($3, least($4, min(looked_at_ms) - max(found_at_ms))) <= $1
     ORDER BY min(looked_at_ms) LIMIT $2`,
    [now_ms, days_max, again_ms_min, again_ms_max],
  )
  return rows
}

/** Leaves a day alone that could not be compared. */
export const postponeDay = (pool: Client, { app_id, day_ms }: OpenDay, now_ms: number) =>
  pool.query(
    `UPDATE reconcile_differences SET looked_at_ms = $3 WHERE app_id = $1 AND hour_ms >= $2 AND hour_ms < $2 + 86400000`,
    [app_id, day_ms, now_ms],
  )

export const forgetOldDifferences = (pool: Client, now_ms: number) =>
  pool.query('DELETE FROM reconcile_differences WHERE greatest(looked_at_ms, found_at_ms) < $1', [now_ms - kept_ms])
