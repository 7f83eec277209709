import { limits } from '@tributary/contracts/limits'
import { inTransaction } from '@tributary/postgres/transaction'
import { type ErasedThing, noteRawErasures } from '@tributary/tables/raw/raw-erasures'
import type { Pool, PoolClient } from 'pg'
import type { BatchPlan, StoredBatch } from '../batch/batch.ts'

type Part = Pick<StoredBatch, 'installs' | 'clicks' | 'more_clicks' | 'plan'>

/** The batch that an app has begun; null without one. */
export async function findBatch(pool: Pool, app_id: string): Promise<StoredBatch | null> {
  const { rows } = await pool.query<{ batch: string; run: string; tombstones: string; plan: Part }>(
    'SELECT batch, run, tombstones, plan FROM erasure_batches WHERE app_id = $1',
    [app_id],
  )
  if (rows[0] === undefined) return null
  const { batch, run, tombstones, plan } = rows[0]
  return { batch, app_id, run: Number(run), tombstones: Number(tombstones), ...plan }
}

/** Another eraser took the work over while this one stood still. */
class TakenOverError extends Error {
  override name = 'TakenOverError'
  override message = 'the batch is no longer as it was read: another eraser is at work'
}

/** Stores a batch that begins. It is durable when this resolves. Rejects when the app has one. */
export async function storeBatch(pool: Pool, { batch, app_id, run, tombstones, ...part }: StoredBatch): Promise<void> {
  const { rowCount } = await pool.query(
    `INSERT INTO erasure_batches (batch, app_id, run, tombstones, plan) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
    [batch, app_id, run, tombstones, JSON.stringify(part)],
  )
  if (rowCount === 0) throw new TakenOverError()
}

/**
 * Stores what was planned for a batch, once: from now on every repeat does the same. Rejects when another eraser has planned or
 * ended it. Two plans of a batch would take different events off the sums under one name.
 */
export async function storePlan(pool: Pool, stored: StoredBatch): Promise<void> {
  const { batch, app_id: _app, run: _run, tombstones: _number, ...part } = stored
  const { rowCount } = await pool.query(
    `UPDATE erasure_batches SET plan = $2 WHERE batch = $1 AND plan->>'plan' IS NULL`,
    [batch, JSON.stringify(part)],
  )
  if (rowCount === 0) throw new TakenOverError()
}

/**
 * Ends a batch: its rows are added to the certificates and to the run, once, however often the batch was done. `plan` is null when
 * nothing of its installs was left; then a batch that another eraser has planned meanwhile goes on.
 */
export async function endBatch(
  pool: Pool,
  { batch, app_id, run, installs, clicks, plan }: StoredBatch,
  now_ms: number,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      `DELETE FROM erasure_batches WHERE batch = $1 AND (plan->>'plan' IS NULL) = $2`,
      [batch, plan === null],
    )
    if (rowCount === 0) return
    const uuids = installs.map(({ install_uuid }) => install_uuid)
    for (const [install_uuid, counts] of Object.entries(plan?.counts ?? {})) {
      await addRows(client, 'erasure_requests', 'app_id = $2 AND install_uuid = $3', counts, [app_id, install_uuid])
    }
    await client.query(
      `INSERT INTO erasure_clicks (app_id, click_id, install_uuid) SELECT $1, * FROM unnest($2::text[], $3::text[])
       ON CONFLICT DO NOTHING`,
      [app_id, clicks.map(({ click_id }) => click_id), clicks.map(({ install_uuid }) => install_uuid)],
    )
    const drains = plan === null || plan.drains
    if (drains) {
      await client.query(
        `UPDATE erasure_requests AS e SET emptied_at_ms = $4, drained_at_ms = $4
         FROM unnest($2::text[], $3::bigint[]) AS t (install_uuid, mark_ms)
         WHERE app_id = $1 AND e.install_uuid = t.install_uuid AND e.mark_ms = t.mark_ms`,
        [app_id, uuids, installs.map(({ mark_ms }) => mark_ms), now_ms],
      )
    }
    await noteRawErasures(client, app_id, erasedThings(installs, clicks, drains))
    await addRows(client, 'erasure_runs', 'run = $2', totalOf(plan), [run])
    await client.query(
      `UPDATE erasure_runs SET drained = drained + $2,
         batches = CASE WHEN $3::jsonb IS NULL OR jsonb_array_length(batches) >= $4 THEN batches ELSE batches || $3::jsonb END
       WHERE run = $1`,
      [run, drains ? uuids.length : 0, summaryOf(uuids.length, plan), limits.erasure_batches_listed_max],
    )
  })
}

/** The rows that readers of raw data have to drop: clicks of each batch, installs once nothing of them is left. */
function erasedThings(
  installs: StoredBatch['installs'],
  clicks: StoredBatch['clicks'],
  drains: boolean,
): ErasedThing[] {
  const markOf = new Map(installs.map(({ install_uuid, mark_ms }) => [install_uuid, mark_ms]))
  const gone = drains ? installs : []
  return [
    ...gone.map(({ install_uuid, mark_ms }) => ({ install_uuid, click_id: '', erased_up_to_ms: mark_ms })),
    ...clicks.map(({ click_id, install_uuid }) => ({
      ...{ install_uuid: '', click_id },
      erased_up_to_ms: markOf.get(install_uuid) ?? 0,
    })),
  ]
}

function totalOf(plan: BatchPlan | null): Record<string, number> {
  const total: Record<string, number> = Object.create(null)
  for (const counts of Object.values(plan?.counts ?? {})) {
    for (const [table, rows] of Object.entries(counts)) total[table] = (total[table] ?? 0) + rows
  }
  return total
}

function summaryOf(requests: number, plan: BatchPlan | null): string | null {
  if (plan === null) return null
  return JSON.stringify([{ requests, rows: Math.max(0, ...Object.values(totalOf(plan))) }])
}

/** Adds numbers by table to a column of rows. */
async function addRows(
  client: PoolClient,
  table: 'erasure_requests' | 'erasure_runs',
  where: string,
  counts: Record<string, number>,
  values: readonly unknown[],
): Promise<void> {
  await client.query(
    `UPDATE ${table} SET rows = (
       SELECT coalesce(jsonb_object_agg(name, total), '{}') FROM (
         SELECT name, sum(value::bigint) AS total
         FROM (SELECT * FROM jsonb_each_text(rows) UNION ALL SELECT * FROM jsonb_each_text($1::jsonb)) AS one (name, value)
         GROUP BY name) AS sums)
     WHERE ${where}`,
    [JSON.stringify(counts), ...values],
  )
}
