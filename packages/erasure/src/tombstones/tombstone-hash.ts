import { hash } from 'node:crypto'

export type TombstoneKind = 'install' | 'click'

/** Gives the keyed hash by which a tombstone knows an id. */
export type TombstoneHash = (kind: TombstoneKind, app_id: string, id: string) => Buffer

const block_bytes = 64
const digest_bytes = 32
const hash_bytes = 16

/**
 * The first 16 bytes of HMAC-SHA-256 (RFC 2104) with the salt of a company, of at most 64 bytes. Each record of an app that
 * has tombstones is hashed, and two plain hashes, each as text, take a small part of the time of `createHmac`.
 */
export function createTombstoneHash(salt: Buffer): TombstoneHash {
  if (salt.length > block_bytes) throw new RangeError('a salt of more than 64 bytes')
  const inner = padded(salt, 0x36)
  const outer = Buffer.concat([padded(salt, 0x5c), Buffer.alloc(digest_bytes)])
  return (kind, app_id, id) => {
    const message = Buffer.concat([inner, Buffer.from(`erased-${kind}/${app_id}/${id}`)])
    outer.write(hash('sha256', message, 'binary'), block_bytes, 'binary')
    return Buffer.from(hash('sha256', outer, 'binary').slice(0, hash_bytes), 'binary')
  }
}

function padded(salt: Buffer, pad: number): Buffer {
  const block = Buffer.alloc(block_bytes, pad)
  for (const [n, byte] of salt.entries()) block[n] = byte ^ pad
  return block
}
