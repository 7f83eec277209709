import type { Committed, LogRecord } from '@tributary/broker/broker'

/** Offsets of a batch, both inclusive. */
export interface OffsetRange {
  from: number
  to: number
}

/** Offset metadata that declares a batch: "whoever reads this finishes exactly the records up to `to`". */
export const intentMetadata = (to: number): string => JSON.stringify({ to })

/** The batch that was declared and perhaps not finished; null when nothing is open. Text of others is no intent. */
export function openIntent(committed: Committed | null): OffsetRange | null {
  if (committed === null || committed.metadata === '') return null
  try {
    const to: unknown = JSON.parse(committed.metadata)?.to
    return Number.isSafeInteger(to) && (to as number) >= committed.offset
      ? { from: committed.offset, to: to as number }
      : null
  } catch {
    return null
  }
}

/** What is to be handled as a whole, and whether it had been declared before. */
export interface Take extends OffsetRange {
  records: LogRecord[]
  reprocessed: boolean
  /** The log no longer has the first records of this range. */
  lost_from: number | null
}

/** Where one generation of one partition stands; void when the generation changes. */
export interface Progress {
  generation: string
  /** Records below have been handled, or are gathered. */
  next: number
  intent: OffsetRange | null
  /** Records of the intent, until its last one is there. */
  gathered: LogRecord[]
}

export function startProgress(generation: string, committed: Committed | null): Progress {
  return { generation, next: committed?.offset ?? -1, intent: openIntent(committed), gathered: [] }
}

/**
 * The batches that a chunk completes: none while an intent lacks records, else the intent's own range and then what
 * lies behind it. Records that are delivered once more are left out. The caller moves on with `finish`.
 */
export function cutChunk(progress: Progress, chunk: readonly LogRecord[]): Take[] {
  const fresh = chunk.filter((record) => record.offset >= progress.next)
  const last = fresh.at(-1)
  if (last === undefined) return []
  const { intent } = progress
  if (intent === null) return [takeOf({ from: fresh[0]!.offset, to: last.offset }, fresh, false, progress.next)]
  if (last.offset < intent.to) {
    progress.gathered.push(...fresh)
    progress.next = last.offset + 1
    return []
  }
  const inside = fresh.filter((record) => record.offset <= intent.to)
  const behind = fresh.filter((record) => record.offset > intent.to)
  const takes = [takeOf(intent, [...progress.gathered, ...inside], true, intent.from)]
  if (behind.length > 0) {
    takes.push(takeOf({ from: behind[0]!.offset, to: last.offset }, behind, false, intent.to + 1))
  }
  return takes
}

/**
 * Remembers a batch before it is begun: if it is broken off, the records that come again may be cut otherwise, and
 * part of them may have been written under the token of this range.
 */
export function declare(progress: Progress, { from, to }: OffsetRange): void {
  progress.intent = { from, to }
}

/** Remembers that a batch is done and committed. */
export function finish(progress: Progress, take: OffsetRange): void {
  progress.next = take.to + 1
  progress.intent = null
  progress.gathered = []
}

function takeOf(range: OffsetRange, records: LogRecord[], reprocessed: boolean, expected: number): Take {
  const first = records[0]?.offset ?? range.to + 1
  return { ...range, records, reprocessed, lost_from: expected >= 0 && first > expected ? expected : null }
}
