import { once } from 'node:events'
import { createGzip, type Gzip } from 'node:zlib'
import { objectLines } from '@tributary/audit-store/object-lines'
import { rewrittenMember } from './rewritten-mark.ts'

/** A line without what is erased, null when nothing remains of it, and whose lines they were. */
interface ErasedLine {
  rest: Buffer | null
  installs: ReadonlySet<string>
}

/** Null for a line that stays as it is. */
export type EraseLine = (line: Buffer) => ErasedLine | null

const line_end = Buffer.from('\n')

/**
 * A `.jsonl.gz` object without what is erased in its lines, and the installs that it concerned; null when it holds nothing of
 * the kind. One line is in memory at a time, however large the object inflates. Rejects where it is none of ours.
 */
export async function rewriteLines(
  object: Buffer,
  eraseLine: EraseLine,
  rewritten_at_ms: number,
): Promise<{ content: Buffer; installs: Set<string> } | null> {
  // Nearly all objects have nothing to erase: they are only read.
  if (!(await holdsErased(object, eraseLine))) return null
  const installs = new Set<string>()
  const gzip = createGzip()
  const compressed = gzip.toArray()
  compressed.catch(() => {}) // the `await` below rejects with it
  for await (const line of objectLines(object)) {
    const erased = eraseLine(line)
    for (const install of erased?.installs ?? []) installs.add(install)
    const rest = erased === null ? line : erased.rest
    if (rest !== null) await write(gzip, Buffer.concat([rest, line_end]))
  }
  gzip.end()
  return { content: Buffer.concat([rewrittenMember(rewritten_at_ms), ...(await compressed)]), installs }
}

async function holdsErased(object: Buffer, eraseLine: EraseLine): Promise<boolean> {
  for await (const line of objectLines(object)) if (eraseLine(line) !== null) return true
  return false
}

async function write(gzip: Gzip, bytes: Buffer): Promise<void> {
  if (!gzip.write(bytes)) await once(gzip, 'drain')
}
