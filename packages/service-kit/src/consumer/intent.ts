import type { Committed, LogRecord } from '@tributary/broker/broker'

/** Offsets of a batch, both inclusive. */
export interface OffsetRange {
  from: number
  to: number
}

/** A batch that was declared. */
export interface Intent extends OffsetRange {
  /** How often the batch was begun, by any process. */
  begun: number
  /** Newest time of its records, Unix epoch ms. */
  to_ms: number
  /**
   * Number of the newest tombstone that the batch knows. Every try drops the same events by it. Null until it is read,
   * and always null if the consumer pins none.
   */
  tombstones: number | null
  /** When its rows count as stored; null until it is pinned, and always null if the consumer has no stamps. */
  stored_at_ms: number | null
}

/** A note that declares a batch: its reader finishes exactly the records from the offset up to `to`. */
type Declared = Omit<Intent, 'from'>

/** A note of a version without stamps lacks its stamp. */
type ReadNote = LogNote & ((Omit<Declared, 'stored_at_ms'> & Partial<Declared>) | { to?: undefined })

/** The note of every commit beside its offset, as JSON in the offset metadata (docs/decisions/log.md#a-log-has-an-identity). */
type CommitNote = LogNote & (Declared | { to?: undefined })

interface LogNote {
  /** Identity of the log that the offset belongs to; a new one whenever log and offset do not fit together. */
  log: string
  /** Newest record time of this log that has been handled, Unix epoch ms; 0 before the first. */
  at_ms: number
  /** The state that the consumer kept, as it was when the offset was reached. */
  state?: unknown
  /** Stamp of the newest batch that is over; absent without one. */
  done_ms?: number
}

const noteText = (note: CommitNote): string => JSON.stringify(note)

/** The note of a commit; null for foreign text and for a moved offset, which name no log. */
function readNote({ metadata }: Committed): ReadNote | null {
  try {
    const note = JSON.parse(metadata)
    return typeof note?.log === 'string' && Number.isSafeInteger(note.at_ms) ? note : null
  } catch {
    return null
  }
}

/** Names the log of a position in tables; see `Batch.source`. */
export const sourceOf = (topic: string, { log }: { log: string }): string => `${topic}@${log}`

/**
 * The same for the log that a commit belongs to; null when the commit names none. A log is named later than the one
 * before.
 */
export function committedSource(topic: string, committed: Committed): string | null {
  const note = readNote(committed)
  return note && sourceOf(topic, note)
}

/** The batch that was declared and perhaps not finished; null when nothing is open. */
export function openIntent(committed: Committed | null): Intent | null {
  const note = committed && readNote(committed)
  if (committed === null || note?.to === undefined || note.to < committed.offset) return null
  const { to, to_ms, begun, tombstones, stored_at_ms = null } = note
  return { from: committed.offset, to, to_ms, begun, tombstones, stored_at_ms }
}

/** The stamp of the newest batch that is over, 0 without one, and whether another batch is open. */
export const committedStamps = (committed: Committed): { done_ms: number; is_open: boolean } => ({
  done_ms: readNote(committed)?.done_ms ?? 0,
  is_open: openIntent(committed) !== null,
})

/** The records that are handled as one batch. */
export interface Take<T> extends OffsetRange {
  records: T[]
  /** Whether the batch had been declared before. */
  reprocessed: boolean
}

/** The progress of one generation of one partition; it is void when the generation changes. */
export interface Progress {
  generation: string
  /** Offset of the first record that has been neither handled nor gathered; -1: wherever the log begins. */
  next: number
  log: string
  /** The committed offset came with a note that names the log. */
  noted: boolean
  at_ms: number
  state: unknown
  /** Stamp of the newest batch that is over; 0 without one. It holds for each log of the partition. */
  stored_at_ms: number
  intent: Intent | null
  /** Records of the intent, until its last one is there. */
  gathered: LogRecord[]
}

/** Takes over what is committed; without a note the log gets the identity `minted`. */
export function startProgress(generation: string, committed: Committed | null, minted: string): Progress {
  const next = committed?.offset ?? -1
  const note = committed === null ? null : readNote(committed)
  const { log, at_ms, state, done_ms = 0 }: LogNote = note ?? { log: minted, at_ms: 0 }
  const intent = openIntent(committed)
  return { generation, next, log, noted: note !== null, at_ms, state, stored_at_ms: done_ms, intent, gathered: [] }
}

/** From now on the partition counts as another log: earlier positions and tokens mean other records. */
export function startLog(progress: Progress, minted: string, next: number): void {
  Object.assign(progress, { log: minted, noted: true, at_ms: 0, state: undefined, next, intent: null, gathered: [] })
}

/**
 * The records of a chunk that are still to be handled, first those that were gathered for an open intent. None while
 * the intent lacks records. Records that were delivered before are left out.
 */
export function takeFresh(progress: Progress, chunk: readonly LogRecord[]): LogRecord[] {
  const fresh = chunk.filter((record) => record.offset >= progress.next)
  const last = fresh.at(-1)
  if (last === undefined) return []
  const records = [...progress.gathered, ...fresh]
  if (progress.intent === null || last.offset >= progress.intent.to) return records
  progress.gathered = records
  progress.next = last.offset + 1
  return []
}

/** True when the log dropped records of the open intent: the rest does not show how these were written. */
export const lacksDeclared = (
  { intent, gathered, next }: Progress,
  { records }: { records: readonly LogRecord[] },
): boolean => {
  const expected = gathered.length > 0 ? next : (intent?.from ?? Number.POSITIVE_INFINITY)
  const fresh = records.find(({ offset }) => offset >= next)
  return fresh !== undefined && fresh.offset > expected
}

/**
 * True when the log holds other records at handled offsets: its end lies before them, or a record there is younger than
 * all handled records.
 */
export const wasReplaced = ({ next, at_ms }: Progress, chunk: { records: readonly LogRecord[]; end_offset: number }) =>
  chunk.end_offset < next ||
  (at_ms > 0 && chunk.records.some(({ offset, timestamp_ms }) => offset < next && timestamp_ms > at_ms))

/** The tables keep their rows: the log is another one. Each other reason to read a log again is that tables lack rows. */
export const log_replaced = 'log_replaced'

/**
 * True when the log can't be the committed one: other records are at the offsets of handled or declared records.
 * `firstAfter` finds the first record that the log took after a time.
 */
export async function isOtherLog(
  { next, at_ms, intent }: Pick<Progress, 'next' | 'at_ms' | 'intent'>,
  end: number,
  firstAfter: (ms: number) => Promise<number>,
): Promise<boolean> {
  if (intent !== null && (intent.to >= end || (await firstAfter(intent.to_ms)) <= intent.to)) return true
  return at_ms > 0 && (await firstAfter(at_ms)) < next
}

/** Text of the commit that declares the open intent. */
export function intentNote({ log, at_ms, state, stored_at_ms, intent }: Progress): string {
  const { from: _offset, ...declared } = intent!
  return noteText({ log, at_ms, ...(state !== undefined && { state }), ...stampOf(stored_at_ms), ...declared })
}

const stampOf = (done_ms: number) => (done_ms > 0 ? { done_ms } : {})

/** Text of the commit that ends a batch; `finish` notes the same in memory. */
export const doneNote = (
  { log, at_ms, stored_at_ms, intent }: Progress,
  done: { at_ms: number; state: unknown },
): string =>
  noteText({
    ...{ log, at_ms: Math.max(at_ms, done.at_ms) },
    ...(done.state !== undefined && { state: done.state }),
    ...stampOf(intent?.stored_at_ms ?? stored_at_ms),
  })

/**
 * Remembers a batch before it is begun, and counts the begin. If the batch is broken off, its records may come again in
 * other chunks, and some may already be written under the token of this range. A new batch knows no tombstones; a batch
 * that was already declared keeps its number and its stamp.
 */
export function declare(
  progress: Progress,
  { from, to }: OffsetRange,
  records: readonly { record: LogRecord }[],
): void {
  const { begun, tombstones, stored_at_ms } = progress.intent ?? { begun: 0, tombstones: null, stored_at_ms: null }
  const to_ms = Math.max(progress.at_ms, newestOf(records))
  progress.intent = { from, to, to_ms, begun: begun + 1, tombstones, stored_at_ms }
}

/** Newest time of records; 0 without any. */
export const newestOf = (records: readonly { record: LogRecord }[]): number =>
  records.reduce((newest, { record }) => Math.max(newest, record.timestamp_ms), 0)

/** Remembers that a batch is done and committed. */
export function finish(progress: Progress, { to }: OffsetRange, done: { at_ms: number; state: unknown }): void {
  progress.next = to + 1
  progress.at_ms = Math.max(progress.at_ms, done.at_ms)
  progress.state = done.state
  progress.stored_at_ms = progress.intent?.stored_at_ms ?? progress.stored_at_ms
  progress.intent = null
  progress.gathered = []
}
