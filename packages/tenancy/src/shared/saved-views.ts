import type { SavedView } from '@tributary/contracts/admin/saved-views'
import { limits } from '@tributary/contracts/limits'
import { inTransaction } from '@tributary/postgres/transaction'
import type { Pool } from 'pg'
import { type AdminRequest, recordAdminAction } from '../companies/admin-audit.ts'
import { lockApp, mustHaveRoom } from './room.ts'

const viewsSql = `SELECT v.name, v.address, p.email AS saved_by, floor(extract(epoch FROM v.saved_at) * 1000)::float8 AS saved_at_ms
  FROM saved_views v LEFT JOIN people p USING (person_id) WHERE v.app_id = $1`

/** The views of an app, by name. */
export async function listViews(pool: Pool, app_id: string): Promise<SavedView[]> {
  return (await pool.query<SavedView>(`${viewsSql} ORDER BY v.name`, [app_id])).rows
}

/** Saves a view in place of one of the same name. Throws `invalid_field` where the app holds too many. */
export function saveView(
  pool: Pool,
  app_id: string,
  { name, address }: Pick<SavedView, 'name' | 'address'>,
  request: AdminRequest,
): Promise<SavedView> {
  return inTransaction(pool, async (client) => {
    await lockApp(client, app_id)
    const { rows } = await client.query<SavedView>(`${viewsSql} AND v.name = $2`, [app_id, name])
    const before = rows[0] && { address: rows[0].address }
    if (before === undefined) await mustHaveRoom(client, 'saved_views', app_id, limits.app_views_max)
    await client.query(
      `INSERT INTO saved_views (app_id, name, address, person_id, saved_at) VALUES ($1, $2, $3, $4, to_timestamp($5 / 1000.0))
       ON CONFLICT (app_id, name) DO UPDATE
       SET address = EXCLUDED.address, person_id = EXCLUDED.person_id, saved_at = EXCLUDED.saved_at`,
      [app_id, name, address, request.person_id ?? null, request.now_ms],
    )
    const detail = { name, address }
    await recordAdminAction(client, request, {
      action: 'view.save',
      subject: app_id,
      detail,
      ...(before && { before }),
    })
    return (await client.query<SavedView>(`${viewsSql} AND v.name = $2`, [app_id, name])).rows[0]!
  })
}

/** Removes a view; none of the name is as good. */
export function removeView(pool: Pool, app_id: string, name: string, request: AdminRequest): Promise<void> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<Pick<SavedView, 'address'>>(
      'DELETE FROM saved_views WHERE app_id = $1 AND name = $2 RETURNING address',
      [app_id, name],
    )
    const [before] = rows
    if (before === undefined) return
    await recordAdminAction(client, request, { action: 'view.remove', subject: app_id, detail: { name }, before })
  })
}
