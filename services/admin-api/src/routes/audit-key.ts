import { CodedError } from '@tributary/contracts/errors'

const id = '[A-Za-z0-9_-]{1,64}'
const day = String.raw`\d{4}-\d{2}-\d{2}`
/** An `event_id` as `encodeURIComponent` and the gateway leave it, with `~` and a hash where it is a second one. */
const eventName = "(?:[A-Za-z0-9_.!*'()-]|%[0-9A-F]{2}){1,384}(?:~[0-9a-f]{8})?"

/** The shapes of docs/rules.md#audit-keys, to the letter: a key becomes part of a path. */
const sdkKey = new RegExp(
  String.raw`^audit/\d{4}/\d{2}/\d{2}/${id}/(?<app_id>${id})/\d{1,16}-${id}-\d{1,16}\.jsonl\.gz$`,
)
const appKeys = [
  new RegExp(String.raw`^s2s/${day}/${eventName}\.json$`),
  new RegExp(String.raw`^s2s/bulk/${day}/[0-9a-f-]{36}\.json$`),
  new RegExp(String.raw`^privacy/${day}/${id}~\d{1,16}\.json$`),
]
const appId = new RegExp(`^${id}$`)

export interface StoredObject {
  /** Key in the audit store. */
  key: string
  app_id: string
  /** Gzip of one line for each request, else one JSON document. */
  lines: boolean
}

/**
 * Where the object of an `audit_key` is stored. Keys of SDK requests name their app; all others need `app_id`, whose
 * prefix they are stored under. Throws `invalid_field` for what is no key or no app, `unknown_audit_key` for another app.
 */
export function findStoredObject(audit_key: unknown, app_id: unknown): StoredObject {
  if (app_id !== undefined && !(typeof app_id === 'string' && appId.test(app_id))) {
    throw new CodedError('invalid_field', { field: 'app_id' })
  }
  if (typeof audit_key !== 'string') throw new CodedError('invalid_field', { field: 'key' })
  const owner = sdkKey.exec(audit_key)?.groups?.app_id
  if (owner !== undefined) {
    if (app_id !== undefined && app_id !== owner) throw new CodedError('unknown_audit_key')
    return { key: audit_key, app_id: owner, lines: true }
  }
  if (!appKeys.some((shape) => shape.test(audit_key))) {
    throw new CodedError('invalid_field', { field: 'key', message: 'This is no audit key.' })
  }
  if (app_id === undefined) {
    throw new CodedError('invalid_field', { field: 'app_id', message: 'This audit key needs the app it belongs to.' })
  }
  return { key: `${app_id}/${audit_key}`, app_id, lines: false }
}
