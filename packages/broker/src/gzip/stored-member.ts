import { crc32 } from 'node:zlib'

const header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]
const header_bytes = 10
const block_bytes = 5
const trailer_bytes = 8

/**
 * A gzip member with one stored block (RFC 1952, RFC 1951 3.2.4), for contents below 64 KiB: it costs no compression.
 * Gzip members in a row are one gzip file, so text can be put around a file that is compressed already.
 */
export function storedMember(content: Buffer): Buffer {
  if (content.length > 0xffff) throw new RangeError('a stored block holds less than 64 KiB')
  const member = Buffer.alloc(header_bytes + block_bytes + content.length + trailer_bytes)
  member.set(header)
  let at = member.writeUInt8(1, header_bytes) // the last block of the member, and not compressed
  at = member.writeUInt16LE(content.length, at)
  at = member.writeUInt16LE(~content.length & 0xffff, at)
  at += content.copy(member, at)
  at = member.writeUInt32LE(crc32(content), at)
  member.writeUInt32LE(content.length, at)
  return member
}
