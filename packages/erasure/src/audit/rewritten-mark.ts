/**
 * When an object was rewritten stands in the object: in a document as its first member, in gzipped lines as an empty gzip
 * member in front, whose extra field (RFC 1952) holds the time. Readers of the inflated lines do not see it.
 */
const subfield = Buffer.from('TB')
const gzip_head = Buffer.from([0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255])
/** Deflate of nothing, and its checksum and length. */
const nothing = Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0, 0])
const documentMark = /^\{"rewritten_at_ms":(\d{1,16}),/
const document_mark_bytes_max = 64

/** A gzip member without content that says when its object was rewritten, Unix epoch ms. */
export function rewrittenMember(rewritten_at_ms: number): Buffer {
  const time = Buffer.alloc(8)
  time.writeBigUInt64LE(BigInt(rewritten_at_ms))
  const field = Buffer.concat([subfield, uint16(time.length), time])
  return Buffer.concat([gzip_head, uint16(field.length), field, nothing])
}

/** A document that says when it was rewritten; an earlier time goes. */
export function rewrittenDocument(json: Buffer, rewritten_at_ms: number): Buffer {
  const [earlier] = documentMark.exec(startOf(json)) ?? ['{']
  return Buffer.concat([Buffer.from(`{"rewritten_at_ms":${rewritten_at_ms},`), json.subarray(earlier.length)])
}

/** When an audit object was rewritten, Unix epoch ms; null when it is as it was written. */
export function rewrittenAt(object: Buffer): number | null {
  const member_bytes = rewrittenMember(0).length
  if (object.length >= member_bytes && object.subarray(0, 2).equals(gzip_head.subarray(0, 2))) {
    const time = Number(object.readBigUInt64LE(gzip_head.length + 6))
    return object.subarray(0, member_bytes).equals(rewrittenMember(time)) ? time : null
  }
  const found = documentMark.exec(startOf(object))
  return found === null ? null : Number(found[1])
}

const startOf = (json: Buffer): string => json.toString('latin1', 0, document_mark_bytes_max)

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}
