import { crc32, gzipSync } from 'node:zlib'

const lineEnd = Buffer.from('}\n')
const newLine = 0x0a
const carriageReturn = 0x0d

/**
 * One line of a `.jsonl.gz` object: `head`, the body, `}` and a line end, as gzip members. A gzip request keeps the
 * client's own compressed bytes between two stored members (gzip members in a row are one file), so audit costs no
 * compression; unless its text has raw line breaks, which are white space to JSON and become spaces.
 */
export function auditLine(head: string, wire: Buffer, body: Buffer): Buffer {
  const oneLine = !body.includes(newLine) && !body.includes(carriageReturn)
  if (wire !== body && oneLine) return Buffer.concat([storedMember(Buffer.from(head)), wire, lineEndMember])
  const text = oneLine ? body : withoutLineBreaks(body)
  return gzipSync(Buffer.concat([Buffer.from(head), text, lineEnd]), { level: 1 })
}

/** JSON has no raw line break inside a string, so each stands between tokens. */
function withoutLineBreaks(body: Buffer): Buffer {
  const text = Buffer.from(body)
  for (const [index, byte] of text.entries()) if (byte === newLine || byte === carriageReturn) text[index] = 0x20
  return text
}

/** A gzip member with one stored block (RFC 1952, RFC 1951 3.2.4), for contents below 64 KiB. */
function storedMember(content: Buffer): Buffer {
  const member = Buffer.alloc(10 + 5 + content.length + 8)
  member.set([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1])
  member.writeUInt16LE(content.length, 11)
  member.writeUInt16LE(~content.length & 0xffff, 13)
  member.set(content, 15)
  member.writeUInt32LE(crc32(content), 15 + content.length)
  member.writeUInt32LE(content.length, 19 + content.length)
  return member
}

const lineEndMember = storedMember(lineEnd)
