import { hash } from 'node:crypto'
import type { AuditStore } from '@tributary/audit-store/audit-store'
import { serverEventAuditKeys } from '@tributary/domain/audit-name'
import { auditHead, type RequestFacts } from './request-facts.ts'

/** Every object of these begins with `{"body_sha256":"`, so that two can be compared without parsing either. */
const hashStart = '{"body_sha256":"'.length

/**
 * Stores one single-event request under `<app_id>/s2s/<date>/<event_id>.json`, write-once, and gives the `audit_key` to
 * answer (the same without the app). A re-send with the same body finds its object; one with another body goes beside it.
 */
export async function auditServerEvent(
  audit: Pick<AuditStore, 'putOnce' | 'get'>,
  app_id: string,
  event_id: string,
  facts: RequestFacts,
  body: Buffer,
): Promise<string> {
  const body_sha256 = hash('sha256', body)
  const content = auditObject(auditHead(facts, { body_sha256, event_id }), body)
  const { received_at_ms } = facts
  for (const audit_key of serverEventAuditKeys({ received_at_ms, event_id, body_sha256 })) {
    if ((await audit.putOnce(`${app_id}/${audit_key}`, content)) === 'created') return audit_key
    const stored = await audit.get(`${app_id}/${audit_key}`)
    if (stored?.toString('latin1', hashStart, hashStart + 64) === body_sha256) return audit_key
  }
  throw new Error('two bodies share an audit key and the first 8 digits of their hash')
}

/** Stores one bulk request under `<app_id>/s2s/bulk/<date>/<uuid>.json` and gives its `audit_key`. */
export async function auditServerBulk(
  audit: Pick<AuditStore, 'putOnce' | 'get'>,
  app_id: string,
  uuid: string,
  facts: RequestFacts,
  minted_event_ids: Record<number, string>,
  body: Buffer,
): Promise<string> {
  const audit_key = `s2s/bulk/${utcDate(facts.received_at_ms)}/${uuid}.json`
  await audit.putOnce(`${app_id}/${audit_key}`, auditObject(auditHead(facts, { minted_event_ids }), body))
  return audit_key
}

const auditObject = (head: string, body: Buffer): Buffer => Buffer.concat([Buffer.from(head), body, Buffer.from('}')])

const utcDate = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
