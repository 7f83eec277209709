import { objectsIn } from '@tributary/audit-store/audit-days'
import type { AuditStore, StoredObject } from '@tributary/audit-store/audit-store'
import type { Pause } from '@tributary/service-kit/service/pauses'

/** An audit object in a folder of a day. */
export interface NamedObject extends Pick<StoredObject, 'key' | 'read'> {
  /** When the first request in it was received, Unix epoch ms; null where the name does not show it. */
  received_at_ms: number | null
}

/** Why objects could not be read, by name: the store refused to give them. */
export type Refusals = Map<string, string>

/** Characters of a reason. */
const reason_chars_max = 200

/** Objects in memory at a time: a day of a busy app has a million. */
const objects_together = 10_000

/**
 * The objects directly in a folder, some at a time. One that the store refuses reads as one that is gone, with the reason in `refusals`.
 */
export async function* listObjects(
  audit: Pick<AuditStore, 'list'>,
  folder: string,
  { pause, refusals }: { pause: Pause; refusals: Refusals },
): AsyncGenerator<NamedObject[]> {
  let listed: NamedObject[] = []
  for await (const object of objectsIn(audit, folder)) {
    await pause()
    const received_at_ms = object.key === null ? null : receivedBy(object.key)
    listed.push({ ...unlessRefused(object, refusals), received_at_ms })
    if (listed.length < objects_together) continue
    yield listed
    listed = []
  }
  yield listed
}

/** The same object, whose `read` resolves with null where the store refuses. */
export function unlessRefused({ key, read }: Pick<StoredObject, 'key' | 'read'>, refusals: Refusals) {
  return {
    key,
    read: () =>
      read().catch((error: unknown) => {
        if (key !== null) refusals.set(key, String(error).slice(0, reason_chars_max))
        return null
      }),
  }
}

/** Says that an object can't be read. */
export const unreadable = (key: string, refusals: Refusals): string => {
  const reason = refusals.get(key)
  return `${key} can't be read${reason === undefined ? '' : `: ${reason}`}`
}

const timedName = /\/(\d{1,15})-[^/]*\.jsonl\.gz$/
/** When the first request in an object was received, by its name, Unix epoch ms; null where it does not show it. */
export const receivedBy = (key: string): number | null => {
  const found = timedName.exec(key)
  return found === null ? null : Number(found[1])
}

/** The audit key that rows have of an object. */
export const auditKey = (app_id: string, key: string): string =>
  key.startsWith('audit/') ? key : key.slice(app_id.length + 1)

/** The name of an audit object by the audit key that rows and envelopes have. */
export const objectKey = (app_id: string, audit_key: string): string =>
  audit_key.startsWith('audit/') ? audit_key : `${app_id}/${audit_key}`
