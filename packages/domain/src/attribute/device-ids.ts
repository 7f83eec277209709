import { createHmac, hash } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'

/** Device ids that apps and links send, and the case in which their SHA-256 is taken. */
const kinds = { gaid: 'lower', app_set_id: 'lower', idfa: 'upper', idfv: 'upper' } as const
export type DeviceIdKind = keyof typeof kinds

const hashed = /^[0-9a-f]{64}$/i

/** SHA-256 of texts that stand for no id: devices without one share them, and would match each other. */
const hashesOfNone = ['', '00000000-0000-0000-0000-000000000000'].map((none) => hash('sha256', none))

/**
 * HMAC of the SHA-256 of each device id, keyed with the salt of the company. Tables hold only this hash
 * (docs/rules.md#hashes-of-device-ids). Clicks and installs both take it from here, so that equal ids compare equal.
 */
export function deviceHashes(ids: Partial<Record<DeviceIdKind, unknown>>, salt: Buffer): string[] {
  const found = (Object.keys(kinds) as DeviceIdKind[]).flatMap((kind) => {
    const digest = digestOf(ids[kind], kinds[kind])
    return digest === null ? [] : [createHmac('sha256', salt).update(digest).digest('hex')]
  })
  return [...new Set(found)]
}

/** SHA-256 of an id in lower-case hex; null for a text that is no id. */
function digestOf(value: unknown, letters: 'lower' | 'upper'): string | null {
  const id = typeof value === 'string' ? value.trim() : ''
  if (!/[^0-]/.test(id) || id.length > limits.optional_string_chars_max) return null
  if (!hashed.test(id)) return hash('sha256', letters === 'lower' ? id.toLowerCase() : id.toUpperCase())
  const sha256 = id.toLowerCase()
  return hashesOfNone.includes(sha256) ? null : sha256
}
