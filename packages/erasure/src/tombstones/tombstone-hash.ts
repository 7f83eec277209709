import { createHmac } from 'node:crypto'

export type TombstoneKind = 'install' | 'click'

/** What a tombstone knows of an id: the first 16 bytes of its HMAC-SHA-256, keyed with the salt of the company. */
export const tombstoneHash = (salt: Buffer, kind: TombstoneKind, app_id: string, id: string): Buffer =>
  createHmac('sha256', salt).update(`erased-${kind}/${app_id}/${id}`).digest().subarray(0, 16)
