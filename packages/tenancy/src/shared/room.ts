import { CodedError } from '@tributary/contracts/errors'
import type { PoolClient } from 'pg'

/** Locks an app: one of several that change it at once sees what the others have done. */
export const lockApp = (client: PoolClient, app_id: string) =>
  client.query('SELECT 1 FROM apps WHERE app_id = $1 FOR NO KEY UPDATE', [app_id])

/** Throws `invalid_field` where an app has `max` rows of a table. */
export async function mustHaveRoom(
  client: PoolClient,
  table: 'saved_views' | 'day_notes',
  app_id: string,
  max: number,
): Promise<void> {
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM ${table} WHERE app_id = $1`,
    [app_id],
  )
  if (rows[0]!.count < max) return
  const of = table === 'saved_views' ? 'views' : 'notes'
  throw new CodedError('invalid_field', { message: `An app holds ${max} ${of}: remove one first.` })
}
