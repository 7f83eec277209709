import type { ErasureRequest } from '@tributary/contracts/erasure'
import { utcDay } from '../utc-day.ts'

/** A request for an erasure before it is durable. */
export type AskedErasure = Omit<ErasureRequest, 'audit_key'>

/** The audit object of a request for an erasure: its key without the prefix of the app, its whole key, and its bytes. */
export interface AuditedErasure {
  audit_key: string
  stored_key: string
  content: Buffer
}

/**
 * The proof of a request, put before anything else is done with it (docs/rules.md#audit-keys). It outlives the erasure,
 * so it holds only the install: no address, no agent and nothing else of the request. An existing object of the same
 * key is the same request.
 */
export function auditedErasure(asked: AskedErasure): AuditedErasure {
  const { app_id, install_uuid, requested_at_ms } = asked
  const audit_key = `privacy/${utcDay(requested_at_ms)}/${install_uuid}~${requested_at_ms}.json`
  return { audit_key, stored_key: `${app_id}/${audit_key}`, content: Buffer.from(JSON.stringify(asked)) }
}
