import type { AuditStore } from '@tributary/audit-store/audit-store'
import { serverEventAuditKeys } from '@tributary/domain/audit-name'
import { utcDay } from '@tributary/domain/utc-day'
import type { JudgedEvent } from '../judge/event.ts'
import { mintEventId } from './s2s-event-id.ts'

/** Each of these objects begins with `{"body_sha256":"`, so that two can be compared without parsing. */
const hashStart = '{"body_sha256":"'.length

/**
 * Stores one single-event request under `<app_id>/s2s/<date>/<event_id>.json`, write-once, and gives the `audit_key` to
 * answer (the same without the app). A re-send with the same body finds its object; one with another body goes beside it.
 */
export async function auditServerEvent(
  audit: Pick<AuditStore, 'putOnce' | 'get'>,
  app_id: string,
  received_at_ms: number,
  { event_id, body_sha256, object }: JudgedEvent,
): Promise<string> {
  for (const audit_key of serverEventAuditKeys({ received_at_ms, event_id, body_sha256 })) {
    if ((await audit.putOnce(`${app_id}/${audit_key}`, object)) === 'created') return audit_key
    const stored = await audit.get(`${app_id}/${audit_key}`)
    if (stored?.toString('latin1', hashStart, hashStart + 64) === body_sha256) return audit_key
  }
  throw new Error('two bodies share an audit key and the first 8 digits of their hash')
}

/** Key of a new object of a bulk request: `s2s/bulk/<date>/<uuid>.json`. */
export const bulkAuditKey = (received_at_ms: number): string =>
  `s2s/bulk/${utcDay(received_at_ms)}/${mintEventId(received_at_ms)}.json`
