import { queueErasures } from '@tributary/erasure/queue-erasures'
import { requestRun } from '@tributary/erasure/runs'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import type { Pool } from 'pg'

export const benchKeys = openMasterKeys([{ id: 'bench', key: Buffer.alloc(32, 1) }])

/** Makes apps with given ids; returns their company. */
export async function makeApps(pool: Pool, app_ids: readonly string[]): Promise<string> {
  const request = { actor: 'bench', request_id: 'bench', now_ms: Date.now() }
  const { company_id } = await createCompany(pool, { name: 'Bench', plan: 'free' }, request)
  for (const app_id of app_ids) {
    const made = await createApp(pool, benchKeys, { company_id, name: 'Game', platform: 'android' }, request)
    await pool.query('UPDATE apps SET app_id = $1 WHERE app_id = $2', [app_id, made.app_id])
  }
  return company_id
}

/** Queues installs as SDKs request it, and begins a run; returns its number. */
export async function requestErasures(pool: Pool, installs: ReadonlyMap<string, readonly string[]>): Promise<number> {
  const now_ms = Date.now()
  const asked = [...installs].flatMap(([app_id, uuids]) =>
    uuids.map((install_uuid) => ({ app_id, install_uuid, requested_at_ms: now_ms, asked_by: 'sdk' as const })),
  )
  const left = await queueErasures({ pool, masterKeys: benchKeys }, asked)
  if (left.size > 0) throw new Error('requests were not queued')
  const run = await requestRun(pool, now_ms)
  await pool.query('UPDATE erasure_runs SET begun_at_ms = $2 WHERE run = $1', [run, now_ms])
  return run
}

/** All erasures, as PostgreSQL has them. */
export interface Erasures {
  /** When each install of an app was drained, Unix epoch ms, in order. */
  drained_ms: Map<string, number[]>
  /** Requests that are not completed. */
  open: number
  /** Rows that the certificates count, by table. */
  rows: Record<string, number>
  objects: number
}

export async function readErasures(pool: Pool): Promise<Erasures> {
  const requests = await pool.query<{ app_id: string; at: string | null; is_open: boolean; objects: string }>(
    `SELECT app_id, drained_at_ms AS at, install_uuid IS NOT NULL OR mark_ms IS NOT NULL AS is_open, objects_rewritten AS objects
     FROM erasure_requests ORDER BY drained_at_ms`,
  )
  const rows = await pool.query<{ name: string; total: string }>(
    `SELECT name, sum(value::bigint) AS total FROM erasure_requests, jsonb_each_text(rows) AS one (name, value) GROUP BY name`,
  )
  const drained = requests.rows.filter(({ at }) => at !== null)
  return {
    drained_ms: new Map(
      [...Map.groupBy(drained, ({ app_id }) => app_id)].map(([app_id, of]) => [app_id, of.map(({ at }) => Number(at))]),
    ),
    open: requests.rows.filter(({ is_open }) => is_open).length,
    rows: Object.fromEntries(rows.rows.map(({ name, total }) => [name, Number(total)])),
    objects: requests.rows.reduce((sum, { objects }) => sum + Number(objects), 0),
  }
}
