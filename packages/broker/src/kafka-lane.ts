import { setTimeout as pause } from 'node:timers/promises'
import type { EachBatchPayload } from 'kafkajs'
import type { LogRecord } from './broker.ts'
import { kafkaTimeouts } from './kafka-client.ts'

export interface LaneOptions {
  /** Inflated bytes of a chunk at most, and what waits before fetching rests. */
  bytes_max: number
  signal: AbortSignal
  /** The lane of this partition before this one: one handler at a time. */
  former: Promise<void>
  /** No fetch from the past can come: nothing was fetched before this generation. */
  first: boolean
  /** Rejecting has the same records delivered again after a pause. */
  deliver(records: LogRecord[], payload: EachBatchPayload): Promise<void>
  onRefused(err: unknown, count: number): void
}

/** The records of one partition in one generation, between the fetch and the handler. */
export interface Lane {
  /** Takes over what was fetched. False: not what comes next, and kafkajs shall ask again. */
  take(payload: EachBatchPayload): boolean
  /** Resolves when the handler is not at work, and is not going to be. */
  settled(): Promise<void>
  /** The handler is at work, or will be without another fetch. */
  isBusy(): boolean
  /** Offset behind what was taken over, null before the first. */
  next(): number | null
}

/**
 * Lets kafkajs fetch on while the handler works: kafkajs itself asks again only when all partitions of its last answer
 * are done, so the last one of a round would work alone. What came meanwhile makes one chunk. Above `bytes_max` the
 * partition is paused, so that memory stays bounded. What waits when the signal fires is dropped; nothing of it was begun.
 */
export function createLane({ bytes_max, signal, former, first, deliver, onRefused }: LaneOptions): Lane {
  const waiting: LogRecord[] = []
  let waiting_bytes = 0
  let next: number | null = null
  let doubted: number | null = null
  let refused = 0
  let resume: (() => void) | null = null
  let work: Promise<void> | null = null
  /** Only while there is work: it holds all that was fetched. */
  let latest: EachBatchPayload | null = null

  function release() {
    resume?.()
    resume = null
  }
  function drop() {
    waiting.length = 0
    waiting_bytes = 0
    release() // kafkajs keeps a pause over a rebalance
  }
  signal.addEventListener('abort', drop, { once: true })

  /**
   * What kafkajs has fetched is ahead of what is committed, and a fetch that was under way during a rebalance is
   * delivered after it: taken for the next records, it would leave out those between. Its place is not the one that
   * kafkajs asks for now, so what comes unexpectedly is asked for again, and taken when it comes again from there.
   */
  function isNext(fetched_from: number): boolean {
    const expected = fetched_from === next || fetched_from === doubted || (first && next === null)
    doubted = expected ? null : fetched_from
    return expected
  }

  /** As many as one chunk may hold, at least one. */
  function shift(): LogRecord[] {
    let bytes = 0
    let count = 0
    for (const { value } of waiting) {
      if (count > 0 && bytes + value.length > bytes_max) break
      bytes += value.length
      count += 1
    }
    waiting_bytes -= bytes
    return waiting.splice(0, count)
  }

  async function run() {
    await former
    while (waiting.length > 0) {
      const records = shift()
      if (waiting_bytes < bytes_max) release()
      await deliverUntilTaken(records)
    }
    // Here and not in a `finally`: what comes between would find work under way that no longer looks.
    work = null
    latest = null
  }

  async function deliverUntilTaken(records: LogRecord[]) {
    while (!signal.aborted) {
      try {
        await deliver(records, latest!)
        refused = 0
        return
      } catch (err) {
        if (signal.aborted) return
        refused += 1
        onRefused(err, refused)
        await pause(pauseAfter(refused), undefined, { signal }).catch(() => {})
      }
    }
  }

  return {
    take(payload) {
      if (!isNext(fetchedFrom(payload))) return false
      latest = payload
      const { messages } = payload.batch
      for (const message of messages) {
        const record = toRecord(payload, message)
        waiting.push(record)
        waiting_bytes += record.value.length
      }
      // Of the last one: kafkajs goes on behind the whole batch, records that are none of ours included.
      payload.resolveOffset(messages.at(-1)!.offset)
      next = Number(payload.batch.lastOffset()) + 1
      if (waiting_bytes >= bytes_max) resume = payload.pause()
      work ??= run()
      return true
    },
    settled: () => work ?? former,
    isBusy: () => work !== null,
    next: () => next,
  }
}

const pauseAfter = (refused: number): number =>
  Math.min(kafkaTimeouts.refused_most_ms, kafkaTimeouts.refused_first_ms * 2 ** Math.min(refused - 1, 20))

/** Where kafkajs asked for these records: known to its batch, not to its types. */
const fetchedFrom = ({ batch }: EachBatchPayload): number => Number((batch as unknown as FetchedBatch).fetchedOffset)

interface FetchedBatch {
  fetchedOffset: string
}

type Message = EachBatchPayload['batch']['messages'][number]

const toRecord = ({ batch }: EachBatchPayload, message: Message): LogRecord => ({
  topic: batch.topic,
  partition: batch.partition,
  offset: Number(message.offset),
  timestamp_ms: Number(message.timestamp),
  key: message.key?.toString() ?? null,
  value: message.value ?? Buffer.alloc(0),
  headers: headersOf(message.headers),
})

function headersOf(headers: Message['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name, String(value ?? '')]))
}
