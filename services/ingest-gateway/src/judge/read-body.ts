import { gunzipSync } from 'node:zlib'
import { createInflatePlain } from '@tributary/broker/gzip/inflate-in-place'
import { CodedError, type ErrorCode } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'

export interface BodyLimit {
  inflated_bytes_max: number
  /** The code of the surface for a body that inflates beyond the limit. */
  too_large: ErrorCode
}

/** A body as it came, with its `Content-Encoding`. */
export interface WireBody {
  wire: Buffer
  encoding: string | undefined
}

/** What gunzip allocates at a time, at most. */
const chunk_bytes_max = 128 * 1024

/**
 * The body as it was before `Content-Encoding`. Throws `unsupported_encoding`, `bad_gzip`, or `too_large`; a gzip bomb
 * ends at the limit, in memory too. Several gzip members are one body, bytes after the last are `bad_gzip`.
 */
export function readBody(body: WireBody, limit: BodyLimit): Buffer {
  const read = readUpTo(body, limit.inflated_bytes_max)
  if (read !== null) return read
  throw new CodedError(limit.too_large, { message: `At most ${limit.inflated_bytes_max} bytes inflated.` })
}

/** `readBody` that stops at `bytes_max` and gives null for a body that inflates to more. */
export const readUpTo = ({ wire, encoding }: WireBody, bytes_max: number): Buffer | null =>
  isPlain(encoding) ? wire : inflate(wire, bytes_max)

/**
 * The number of bytes that `readBody` may make of a body, as the body claims. If the claim is above the limit, it is
 * true, or the body is no gzip. A smaller claim may be a lie, or be that of the last of several members. Throws
 * `unsupported_encoding`.
 */
export function claimedBytes({ wire, encoding }: WireBody, { inflated_bytes_max }: BodyLimit): number {
  if (isPlain(encoding)) return wire.length
  return Math.min(Math.max(claimOf(wire), wire.length, 1), inflated_bytes_max)
}

/**
 * The bytes that a body counts (docs/rules.md#bytes-of-a-month): inflated, or as it came if that is more. A client can
 * pad gzip with empty members, and the audit store keeps the body as it came. Each record of the log repeats the facts
 * of the request.
 */
export const bodyBytes = (body: Buffer, wire: Buffer, records: number): number =>
  Math.max(body.length, wire.length) + Math.max(1, records) * limits.quota_record_bytes

export interface SmallBody {
  /** Holds until the next body is read. */
  body: Buffer
  /** The body as it came, where it is gzip that any reader takes: see `createInflatePlain`. */
  plain_gzip: Buffer | null
}

/**
 * `readBody` for bodies of up to `limits.inline_inflated_bytes_max`: null for larger bodies, and for bodies that claim
 * too little.
 */
export function createReadSmallBody(): (body: WireBody, limit: BodyLimit) => SmallBody | null {
  const inflatePlain = createInflatePlain()
  return (whole, limit) => {
    const { wire, encoding } = whole
    const bytes_max = claimedBytes(whole, limit)
    if (bytes_max > Math.min(limits.inline_inflated_bytes_max, limit.inflated_bytes_max)) return null
    const plain = isPlain(encoding) ? null : inflatePlain(wire)
    const body = plain ?? (isPlain(encoding) ? wire : inflate(wire, bytes_max))
    return body === null || body.length > bytes_max ? null : { body, plain_gzip: plain && wire }
  }
}

function isPlain(encoding: string | undefined): boolean {
  const name = encoding?.trim().toLowerCase() ?? ''
  if (name === '' || name === 'identity') return true
  if (name === 'gzip') return false
  throw new CodedError('unsupported_encoding', { message: 'Content-Encoding may be gzip or identity.' })
}

/** Null beyond `maxOutputLength`. */
function inflate(wire: Buffer, maxOutputLength: number): Buffer | null {
  try {
    const options = { maxOutputLength, chunkSize: guessBytes(wire), info: true }
    const { buffer, engine } = gunzipSync(wire, options) as unknown as Inflated
    engine._outBuffer = null // or each body stays in memory until the next full collection, and brings it nearer
    // Node ignores zero bytes after a member, so this asks for the bytes that it has not read.
    if (engine.bytesWritten !== wire.length) throw new Error('bytes after the last gzip member')
    return buffer
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return null
    throw new CodedError('bad_gzip', { cause })
  }
}

/** What gunzip gives with `info: true`, which its types leave out. A collection of young objects never takes an engine. */
interface Inflated {
  buffer: Buffer
  engine: { bytesWritten: number; _outBuffer: Buffer | null }
}

/** A gzip member ends with its inflated size. */
const claimOf = (wire: Buffer): number => (wire.length < 18 ? 0 : wire.readUInt32LE(wire.length - 4))

/** The claimed size, bounded so that a wrong claim costs nothing. */
const guessBytes = (wire: Buffer): number => Math.min(Math.max(claimOf(wire) + 1, 1024), chunk_bytes_max)
