import type { Pool, PoolClient } from 'pg'
import { clock_ms, type DueKey } from './due-postbacks.ts'

type Client = Pick<Pool | PoolClient, 'query'>

/** An install that is erased, with its mark. */
interface ErasedInstall {
  install_uuid: string
  mark_ms: number
}

const erasedValues = (app_id: string, installs: readonly ErasedInstall[]) => [
  ...[app_id, installs.map(({ install_uuid }) => install_uuid), installs.map(({ mark_ms }) => mark_ms)],
]
const ofErased = `d.app_id = $1 AND d.install_uuid = e.install_uuid AND d.dated_at_ms <= e.mark_ms`

/**
 * Ends what is due of erased installs: nobody takes it any more. Gives back whether a process may still be in a try of it, which
 * another look tells.
 */
export async function endErased(pool: Client, app_id: string, installs: readonly ErasedInstall[]): Promise<boolean> {
  const values = erasedValues(app_id, installs)
  await pool.query(
    `UPDATE due_postbacks d SET state = 'erased', content = ''
     FROM unnest($2::text[], $3::bigint[]) AS e (install_uuid, mark_ms) WHERE ${ofErased} AND d.state <> 'erased'`,
    values,
  )
  const { rows } = await pool.query(
    `SELECT 1 FROM due_postbacks d JOIN unnest($2::text[], $3::bigint[]) AS e (install_uuid, mark_ms) ON ${ofErased}
     WHERE d.leased AND d.next_try_ms > ${clock_ms} LIMIT 1`,
    values,
  )
  return rows.length > 0
}

/** Removes the keys of erased installs: what comes again is dropped by their tombstones. */
export async function removeErased(pool: Client, app_id: string, installs: readonly ErasedInstall[]): Promise<void> {
  const from = `DELETE FROM due_postbacks d USING unnest($2::text[], $3::bigint[]) AS e (install_uuid, mark_ms)`
  await pool.query(`${from} WHERE ${ofErased} AND d.state = 'erased'`, erasedValues(app_id, installs))
}

/** The key of a row that an earlier, erased life of its install may hold. */
type KeyOfLife = DueKey & Pick<ErasedInstall, 'mark_ms'>

/**
 * Frees keys that an erased life of an install holds, for its new life. Nobody takes such a row any more, and its own `Idempotency-Key`
 * becomes its key: the eraser still sees whether a process is in a try of it, and removes it.
 */
export async function freeErased(pool: Client, keys: readonly KeyOfLife[]): Promise<void> {
  if (keys.length === 0) return
  const of = <T>(value: (one: KeyOfLife) => T) => keys.map(value)
  await pool.query(
    `UPDATE due_postbacks d SET event_key = d.idempotency_key::text, state = 'erased', content = ''
     FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[]) AS e (app_id, install_uuid, event_key, partner, mark_ms)
     WHERE d.app_id = e.app_id AND d.install_uuid = e.install_uuid AND d.event_key = e.event_key AND d.partner = e.partner
       AND d.dated_at_ms <= e.mark_ms`,
    [
      ...[of((one) => one.app_id), of((one) => one.install_uuid), of((one) => one.event_key), of((one) => one.partner)],
      of((one) => one.mark_ms),
    ],
  )
}
