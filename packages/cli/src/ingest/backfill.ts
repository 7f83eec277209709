import { createHash } from 'node:crypto'
import { access } from 'node:fs/promises'
import { type BulkPost, createBulkPost } from '@tributary/client/bulk-post'
import { Refusals } from '@tributary/client/deliver-events'
import { deliver } from '@tributary/client/retry'
import { limits } from '@tributary/contracts/limits'
import { requestDefaults, throwCliError } from '../http.ts'
import { type BackfillState, freshState, lockFile, readState, writeState } from './backfill-state.ts'
import { batchesOf, workInOrder } from './batches.ts'
import { type BatchOutcome, countOne, countReasons, deliverBatch, retryFor } from './deliver-batch.ts'
import { type Event, type FileLine, type OpenedFile, openFile, type SkippedLine } from './lines.ts'
import { startProgress } from './progress.ts'
import { openRejectedFile } from './rejected-file.ts'

export interface BackfillOptions {
  path: string
  url: string
  key: string
  /** Chooses how the file is read. */
  openLines(file: OpenedFile): FileReader | Promise<FileReader>
  resume: boolean
  give_up_after_ms: number
  show_progress: boolean
  /** Stops the run, which can then be resumed. */
  stopped?: AbortSignal
}

/** How a file becomes events. */
export interface FileReader {
  /** Identifies the way of reading: a run is resumed only by one that reads in the same way. */
  form: readonly unknown[]
  /** Looks before the first line is sent; a resumed run does not look again. */
  lookAhead(): Promise<void>
  lines(content: AsyncIterable<Buffer>): AsyncIterable<FileLine | SkippedLine>
}

/** Totals of the whole file, including earlier runs that were resumed. */
export interface BackfillResult
  extends Pick<
    BackfillState,
    'accepted' | 'rejected' | 'rejected_reasons' | 'skipped_reasons' | 'duplicates_possible'
  > {
  rejected_path: string
}

/** Requests open at once. A killed run may have sent this many batches beyond the saved state. */
const in_flight_max = 4

/** Sends a whole file through `/s2s/events/bulk`. */
export async function backfill(options: BackfillOptions): Promise<BackfillResult> {
  await access(options.path)
  const unlock = lockFile(options.path)
  try {
    const file = await openFile(options.path)
    const reader = await options.openLines(file)
    const fingerprint = fingerprintOf(file, reader, options)
    const saved = options.resume ? await readState(options.path, fingerprint) : null
    // A saved state means that an earlier run looked, and that what it found was meant.
    if (saved === null) await reader.lookAhead()
    const state = saved ?? freshState(fingerprint)
    const rejected_path = await sendFile(file, reader, state, saved !== null, options)
    const { accepted, rejected, rejected_reasons, skipped_reasons, duplicates_possible } = state
    return { accepted, rejected, rejected_reasons, skipped_reasons, duplicates_possible, rejected_path }
  } finally {
    unlock()
  }
}

/** Sends the rest of the file and updates `state`. Each batch, in the order of the file, has these effects in order: */
async function sendFile(
  file: OpenedFile,
  reader: FileReader,
  state: BackfillState,
  resumed: boolean,
  options: BackfillOptions,
): Promise<string> {
  const bulkPost = openPost(options)
  const policy = retryFor(options.give_up_after_ms)
  const rejects = await openRejectedFile(options.path, state.rejected_bytes)
  const progress = startProgress(file.bytes, options.show_progress)
  const { content, bytesRead } = file.open()
  const refusals = new Refusals()
  const lines = reader.lines(content)
  try {
    await writeState(options.path, state)
    await workInOrder(
      batchesOf(from(lines, state), bulk),
      in_flight_max,
      // 1. The service has the events. After a crash here they are sent again, under the same event_ids.
      (batch, index, signal) => {
        const sent_before = resumed && index < in_flight_max
        const post = (events: readonly Event[]) => {
          const texts = events.map(({ json }) => json)
          return deliver(() => bulkPost(texts, signal), policy, signal)
        }
        return deliverBatch(batch, { refusals, sent_before, post })
      },
      async (batch, outcome) => {
        // 2. The rejected lines are on disk. After a crash here they lie beyond `rejected_bytes`, and a resume cuts them off.
        const rejected_bytes = await rejects.append(outcome.rejected)
        // 3. The state is saved. These lines are never sent again.
        add(state, batch, outcome, rejected_bytes)
        await writeState(options.path, state)
        progress.update(bytesRead(), state.accepted + state.rejected)
      },
      options.stopped,
    )
    state.complete = true
    await writeState(options.path, state)
  } finally {
    progress.stop()
    await rejects.close()
  }
  return rejects.path
}

/** Limits of one request. */
export const bulk = { lines_max: limits.bulk_events_max, body_bytes_max: limits.bulk_body_bytes_max }

async function* from(
  lines: AsyncIterable<FileLine | SkippedLine>,
  state: BackfillState,
): AsyncGenerator<FileLine | SkippedLine> {
  if (state.complete) return
  const done = state.line
  for await (const line of lines) if (line.line > done) yield line
}

function add(
  state: BackfillState,
  batch: readonly (FileLine | SkippedLine)[],
  outcome: BatchOutcome,
  rejected_bytes: number,
): void {
  state.line = batch.at(-1)?.line ?? state.line
  state.accepted += outcome.accepted
  state.rejected += outcome.rejected.length
  countReasons(state.rejected_reasons, outcome.rejected)
  for (const line of batch) if ('skipped' in line) countOne(state.skipped_reasons, line.skipped)
  state.duplicates_possible += outcome.duplicates_possible
  state.rejected_bytes = rejected_bytes
}

function openPost({ url, key }: BackfillOptions): BulkPost {
  try {
    return createBulkPost({ ...requestDefaults, url, server_key: key })
  } catch (error) {
    return throwCliError(error)
  }
}

function fingerprintOf(file: OpenedFile, { form }: FileReader, { url, key }: BackfillOptions): string {
  const parts = [file.sha256, url, key, ...form]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}
