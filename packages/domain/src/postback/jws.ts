import { type KeyObject, verify } from 'node:crypto'
import type { Fault } from './finding.ts'
import { type Members, type ReadObject, readObject } from './members.ts'
import { textOf } from './values.ts'

/** A JWS. It is proven only when `readKid` and `findSignatureFault` find no fault. */
export interface ReadJws {
  header: Members
  payload: Members
  /** Header or payload has a name twice. */
  has_doubles: boolean
  /** The bytes that are signed. */
  signed: Buffer
  signature: Buffer
}

/** Reads a JWS in compact form (RFC 7515) whose header and payload are JSON objects. Null for other text. */
export function readJws(jws: string): ReadJws | null {
  const parts = jws.split('.', 4)
  const [header_bytes, payload_bytes, signature] = parts.map(decodeBase64url)
  if (parts.length !== 3 || !header_bytes || !payload_bytes || !signature) return null
  const header = readPart(header_bytes)
  const payload = readPart(payload_bytes)
  if (header === null || payload === null) return null
  const signed = Buffer.from(jws.slice(0, jws.lastIndexOf('.')))
  const has_doubles = header.has_doubles || payload.has_doubles
  return { header: header.members, payload: payload.members, has_doubles, signed, signature }
}

/**
 * The `kid` of a header. The algorithm is ES256 whatever the header says: a header with another one is a fault, and so is
 * one with `crit`, which names rules unknown here.
 */
export function readKid(header: Members): string | Fault {
  if (textOf(header.get('alg')) !== 'ES256') return { code: 'wrong_algorithm' }
  if (header.has('crit')) return { code: 'critical_header' }
  const field = 'kid'
  if (!header.has(field)) return { code: 'missing_field', field }
  return textOf(header.get(field)) ?? { code: 'wrong_type', field }
}

/** Bytes of r and s of P-256 (RFC 7518, section 3.4). */
const es256_bytes = 64

/** Undefined when the key of P-256 signed it. */
export function findSignatureFault({ signed, signature: proof }: ReadJws, key: KeyObject): Fault | undefined {
  if (proof.length !== es256_bytes) return { code: 'signature_encoding' }
  const proven = verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, proof)
  return proven ? undefined : { code: 'signature_mismatch' }
}

/** The bytes of an unpadded base64url text; null for any other spelling of them. */
function decodeBase64url(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : null
}

function readPart(bytes: Buffer): ReadObject | null {
  const text = decodeUtf8(bytes)
  return text === null ? null : readObject(text)
}

function decodeUtf8(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}
