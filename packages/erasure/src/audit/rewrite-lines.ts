import { once } from 'node:events'
import { createGzip, type Gzip, gunzipSync } from 'node:zlib'
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
  const lines = linesAtOnce(object)
  if (lines !== null) return lines.some((line) => eraseLine(line) !== null)
  for await (const line of objectLines(object)) if (eraseLine(line) !== null) return true
  return false
}

/**
 * Bytes of a small object, as it is stored and inflated. It is inflated at once, which takes about half the time of a stream
 * (docs/decisions/erasure.md#small-objects-are-inflated-at-once).
 */
const stored_at_once_max = 16 * 1024
const inflated_at_once_max = 256 * 1024

/** The lines of a small object; null for one that is large or foreign. */
function linesAtOnce(object: Buffer): Buffer[] | null {
  if (object.length > stored_at_once_max) return null
  let text: Buffer
  try {
    text = gunzipSync(object, { maxOutputLength: inflated_at_once_max })
  } catch {
    return null
  }
  const lines: Buffer[] = []
  let from = 0
  for (let to = text.indexOf(line_end); to !== -1; to = text.indexOf(line_end, from)) {
    lines.push(text.subarray(from, to))
    from = to + 1
  }
  return from === text.length ? lines : null
}

async function write(gzip: Gzip, bytes: Buffer): Promise<void> {
  if (!gzip.write(bytes)) await once(gzip, 'drain')
}
