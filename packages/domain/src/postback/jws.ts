import { type KeyObject, verify } from 'node:crypto'
import type { Fault } from './finding.ts'
import { type Members, readMembers } from './members.ts'
import { textOf } from './values.ts'

/** A JWS whose header is acceptable. Nothing of it is proven before `verify`. */
export interface OpenedJws {
  kid: string
  payload: Members
  /** The fault of the signature under a key of P-256; undefined when it is genuine. */
  verify(key: KeyObject): Fault | undefined
}

/** Bytes of r and s of P-256 (RFC 7518, section 3.4). */
const raw_signature_bytes = 64

/**
 * Opens a JWS in compact form (RFC 7515) whose header and payload are JSON objects. The algorithm is ES256 whatever the
 * header says: a header with another one is refused, and so is one with `crit`, which names rules unknown here.
 */
export function openJws(jws: string): OpenedJws | Fault {
  const parts = jws.split('.', 4)
  const [header_bytes, payload_bytes, signature] = parts.map(decodeBase64url)
  if (parts.length !== 3 || !header_bytes || !payload_bytes || !signature) return { code: 'bad_jws' }
  const header = readPart(header_bytes)
  if ('code' in header) return header
  if (textOf(header.get('alg')) !== 'ES256') return { code: 'wrong_algorithm' }
  if (header.has('crit')) return { code: 'critical_header' }
  if (!header.has('kid')) return { code: 'missing_field', field: 'kid' }
  const kid = textOf(header.get('kid'))
  if (kid === null) return { code: 'wrong_type', field: 'kid' }
  const payload = readPart(payload_bytes)
  if ('code' in payload) return payload
  const signed = Buffer.from(jws.slice(0, jws.lastIndexOf('.')))
  return { kid, payload, verify: (key) => findFault(signed, signature, key) }
}

function findFault(signed: Buffer, signature: Buffer, key: KeyObject): Fault | undefined {
  if (signature.length !== raw_signature_bytes) return { code: 'signature_encoding' }
  const proven = verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature)
  return proven ? undefined : { code: 'signature_mismatch' }
}

/** Null for anything but the one unpadded base64url text of some bytes. */
function decodeBase64url(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : null
}

function readPart(bytes: Buffer): Members | Fault {
  const text = decodeUtf8(bytes)
  const members = text === null ? 'bad_json' : readMembers(text)
  if (typeof members !== 'string') return members
  return { code: members === 'bad_json' ? 'bad_jws' : members }
}

function decodeUtf8(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}
