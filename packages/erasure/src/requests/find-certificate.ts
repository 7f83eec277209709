import type { Certificate } from '@tributary/contracts/admin/erasures'
import { CodedError } from '@tributary/contracts/errors'
import { findSalts } from '@tributary/tenancy/secrets/attribution-secrets'
import { createTombstoneHash } from '../tombstones/tombstone-hash.ts'
import type { TombstonesOptions } from '../tombstones/tombstones.ts'

/** The rules by which installs are erased. A certificate names those of its erasure. */
const rules_version = 1

interface Row {
  requested_at_ms: string
  erased_up_to_ms: string
  mark_ms: string | null
  marks: Certificate['marks']
  drained_at_ms: string | null
  rows: Certificate['rows']
  objects_rewritten: string
  objects_unreadable: string
}

/**
 * The certificate of an install, found by the keyed hash of its id; null when nobody ever requested its erasure. Throws CodedError
 * `unknown_app` for an app that is not there.
 */
export async function findCertificate(
  { pool, masterKeys }: TombstonesOptions,
  app_id: string,
  install_uuid: string,
): Promise<Certificate | null> {
  const salt = (await findSalts(pool, masterKeys, [app_id])).get(app_id)
  if (salt === undefined) throw new CodedError('unknown_app')
  if (salt === null) return null
  if (salt instanceof Error) throw salt
  const { rows } = await pool.query<Row>(
    `SELECT requested_at_ms, erased_up_to_ms, mark_ms, marks, drained_at_ms, rows, objects_rewritten, (
       SELECT coalesce(sum(objects), 0) FROM unreadable_objects AS u WHERE u.app_id = e.app_id AND u.number <= e.unreadable
     ) AS objects_unreadable
     FROM erasure_requests AS e WHERE app_id = $1 AND install_hash = $2`,
    [app_id, createTombstoneHash(salt)('install', app_id, install_uuid)],
  )
  return rows[0] === undefined ? null : toCertificate(rows[0])
}

function toCertificate(row: Row): Certificate {
  const is_queued = Number(row.requested_at_ms) > Number(row.erased_up_to_ms)
  const objects_unreadable = Number(row.objects_unreadable)
  const is_draining = row.mark_ms !== null || objects_unreadable > 0
  return {
    state: is_draining ? 'draining' : is_queued ? 'queued' : 'completed',
    marks: row.marks,
    drained_at_ms: row.drained_at_ms === null ? null : Number(row.drained_at_ms),
    rows: row.rows,
    objects_rewritten: Number(row.objects_rewritten),
    ...(objects_unreadable > 0 && { objects_unreadable }),
    version: rules_version,
  }
}
