import { gzipSync } from 'node:zlib'
import { storedMember } from '@tributary/broker/gzip/stored-member'

const lineEnd = Buffer.from('}\n')
const newLine = 0x0a
const carriageReturn = 0x0d

/**
 * One line of a `.jsonl.gz` object: `head`, the body, `}` and a line end, as gzip members. A gzip request keeps the
 * client's compressed bytes between two stored members (several gzip members are one file), so audit costs no
 * compression. Only a text with raw line breaks is compressed again: JSON treats them as white space, and they become
 * spaces.
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

const lineEndMember = storedMember(lineEnd)
