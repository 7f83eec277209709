import type { Certificate } from '@tributary/contracts/admin/erasures'
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
}

/** The certificate of an install, found by the keyed hash of its id; null when nobody ever requested its erasure. */
export async function findCertificate(
  { pool, masterKeys }: TombstonesOptions,
  app_id: string,
  install_uuid: string,
): Promise<Certificate | null> {
  const salt = (await findSalts(pool, masterKeys, [app_id])).get(app_id) ?? null
  if (salt === null) return null
  if (salt instanceof Error) throw salt
  const { rows } = await pool.query<Row>(
    `SELECT requested_at_ms, erased_up_to_ms, mark_ms, marks, drained_at_ms, rows, objects_rewritten
     FROM erasure_requests WHERE app_id = $1 AND install_hash = $2`,
    [app_id, createTombstoneHash(salt)('install', app_id, install_uuid)],
  )
  return rows[0] === undefined ? null : toCertificate(rows[0])
}

function toCertificate(row: Row): Certificate {
  const is_queued = Number(row.requested_at_ms) > Number(row.erased_up_to_ms)
  return {
    state: row.mark_ms !== null ? 'draining' : is_queued ? 'queued' : 'completed',
    marks: row.marks,
    drained_at_ms: row.drained_at_ms === null ? null : Number(row.drained_at_ms),
    rows: row.rows,
    objects_rewritten: Number(row.objects_rewritten),
    version: rules_version,
  }
}
