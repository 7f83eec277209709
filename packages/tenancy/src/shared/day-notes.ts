import type { DayNote } from '@tributary/contracts/admin/day-notes'
import { limits } from '@tributary/contracts/limits'
import { inTransaction } from '@tributary/postgres/transaction'
import type { Pool } from 'pg'
import { type AdminRequest, recordAdminAction } from '../companies/admin-audit.ts'
import { makeId } from '../people/random-token.ts'
import { lockApp, mustHaveRoom } from './room.ts'

const notesSql = `SELECT n.note_id, n.day::text AS day, n.text, p.email AS written_by,
    floor(extract(epoch FROM n.written_at) * 1000)::float8 AS written_at_ms
  FROM day_notes n LEFT JOIN people p USING (person_id) WHERE n.app_id = $1`

/** The notes of an app, by day. */
export async function listNotes(pool: Pool, app_id: string): Promise<DayNote[]> {
  return (await pool.query<DayNote>(`${notesSql} ORDER BY n.day, n.written_at, n.note_id`, [app_id])).rows
}

/** Throws `invalid_field` where the app holds too many. */
export function writeNote(
  pool: Pool,
  app_id: string,
  { day, text }: Pick<DayNote, 'day' | 'text'>,
  request: AdminRequest,
): Promise<DayNote> {
  return inTransaction(pool, async (client) => {
    await lockApp(client, app_id)
    await mustHaveRoom(client, 'day_notes', app_id, limits.app_notes_max)
    const note_id = makeId('note')
    await client.query(
      `INSERT INTO day_notes (note_id, app_id, day, text, person_id, written_at)
       VALUES ($1, $2, $3, $4, $5, to_timestamp($6 / 1000.0))`,
      [note_id, app_id, day, text, request.person_id ?? null, request.now_ms],
    )
    await recordAdminAction(client, request, { action: 'note.write', subject: app_id, detail: { note_id, day, text } })
    return (await client.query<DayNote>(`${notesSql} AND n.note_id = $2`, [app_id, note_id])).rows[0]!
  })
}

/** Removes a note; none of the id is as good. */
export function removeNote(pool: Pool, app_id: string, note_id: string, request: AdminRequest): Promise<void> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<Pick<DayNote, 'day' | 'text'>>(
      'DELETE FROM day_notes WHERE app_id = $1 AND note_id = $2 RETURNING day::text AS day, text',
      [app_id, note_id],
    )
    const [before] = rows
    if (before === undefined) return
    const action = { action: 'note.remove', subject: app_id, detail: { note_id }, before }
    await recordAdminAction(client, request, action)
  })
}
