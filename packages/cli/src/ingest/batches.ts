import { wrapping_bytes } from './events.ts'
import type { FileLine, SkippedLine } from './lines.ts'

export interface BatchLimits {
  /** Lines of one batch, including lines that are rejected without being sent. */
  lines_max: number
  body_bytes_max: number
}

/** Groups lines so that the events of each group fit into one request. */
export async function* batchesOf<Line extends FileLine | SkippedLine>(
  source: AsyncIterable<Line>,
  { lines_max, body_bytes_max }: BatchLimits,
): AsyncGenerator<Line[]> {
  let batch: Line[] = []
  let bytes = wrapping_bytes
  for await (const line of source) {
    const line_bytes = 'event' in line ? Buffer.byteLength(line.event.json) + 1 : 0
    if (batch.length === lines_max || bytes + line_bytes > body_bytes_max) {
      if (batch.length > 0) yield batch
      batch = []
      bytes = wrapping_bytes
    }
    batch.push(line)
    bytes += line_bytes
  }
  if (batch.length > 0) yield batch
}

/**
 * Works on several batches at once and commits them in order, so that the committed batches are always a prefix of the
 * source. The first failure, or the abort of `stopped`, stops reading and aborts the others through `signal`. It is thrown
 * once they have ended.
 */
export async function workInOrder<B, R>(
  batches: AsyncIterable<B>,
  in_flight_max: number,
  work: (batch: B, index: number, signal: AbortSignal) => Promise<R>,
  commit: (batch: B, result: R) => Promise<void>,
  stopped?: AbortSignal,
): Promise<void> {
  const stop = new AbortController()
  const pass = () => stop.abort(stopped?.reason)
  stopped?.addEventListener('abort', pass, { once: true })
  let index = 0
  const open: { batch: B; result: Promise<R> }[] = []
  const commitFirst = async () => {
    const first = open.shift()
    if (first !== undefined) await commit(first.batch, await first.result)
  }
  try {
    for await (const batch of batches) {
      stopped?.throwIfAborted()
      const result = work(batch, index, stop.signal)
      result.catch(() => {})
      index += 1
      open.push({ batch, result })
      if (open.length === in_flight_max) await commitFirst()
    }
    while (open.length > 0) await commitFirst()
  } catch (error) {
    stop.abort()
    await Promise.allSettled(open.map(({ result }) => result))
    // An aborted batch fails with its own error. The reason of the abort is what counts.
    throw stopped?.aborted ? stopped.reason : error
  } finally {
    stopped?.removeEventListener('abort', pass)
  }
}
