import { createHmac, hash } from 'node:crypto'

/** Device ids that apps and links tell, and the case in which their SHA-256 is taken. */
const kinds = { gaid: 'lower', app_set_id: 'lower', idfa: 'upper', idfv: 'upper' } as const
export type DeviceIdKind = keyof typeof kinds

const hashed = /^[0-9a-f]{64}$/i

/**
 * HMAC of the SHA-256 of each device id, keyed with the salt of the company: all that tables hold of them. An id that is
 * hashed already is taken for that SHA-256. Ids of zeros alone, which devices tell instead of none, are left out.
 */
export function deviceHashes(ids: Partial<Record<DeviceIdKind, unknown>>, salt: Buffer): string[] {
  const found = (Object.keys(kinds) as DeviceIdKind[]).flatMap((kind) => {
    const id = ids[kind]
    if (typeof id !== 'string' || !/[^0-]/.test(id)) return []
    const digest = hashed.test(id) ? id.toLowerCase() : hash('sha256', inCase(id, kinds[kind]))
    return [createHmac('sha256', salt).update(digest).digest('hex')]
  })
  return [...new Set(found)]
}

const inCase = (id: string, letters: 'lower' | 'upper'): string =>
  letters === 'lower' ? id.toLowerCase() : id.toUpperCase()
