import { setTimeout as pause } from 'node:timers/promises'
import type { EachBatchPayload } from 'kafkajs'
import type { LogRecord, NeedsValue } from '../../broker.ts'
import type { Budget } from '../kafka-budget.ts'
import { kafkaTimeouts } from '../kafka-client.ts'
import { inflatedBytes, withoutValue } from '../kafka-packed.ts'
import { toRecord } from '../produce/kafka-record.ts'

export interface PartitionQueueOptions {
  /** Where reading begins. */
  start: number
  /** Inflated bytes of a chunk at most, and what waits before fetching rests. */
  bytes_max: number
  /** Shared by the queues of a consumption: while it is full, only a partition that holds nothing is fetched. */
  budget: Budget
  signal: AbortSignal
  /** The queue of this partition before this one: one handler at a time. */
  former: Promise<void>
  /** The function of `ConsumeOptions`. */
  needsValue?: NeedsValue | undefined
  /** Has kafkajs fetch from this offset next. */
  seek(offset: number): void
  /** Makes what readers get of what is stored. */
  unpack(records: readonly LogRecord[]): Promise<LogRecord[]>
  /** Rejecting has the same records delivered again after a pause. */
  deliver(records: LogRecord[], payload: EachBatchPayload): Promise<void>
  onRefused(err: unknown, count: number): void
  /** The log went backwards: it ends before what comes next. */
  onBackwards(next: number, found: number): void
}

/** The records of one partition in one generation, between the fetch and the handler. */
export interface PartitionQueue {
  /** Takes over what was fetched, when it is what comes next. */
  take(payload: EachBatchPayload): void
  /** Drops what waits and goes on from `offset` once the handler has ended, however it ends. */
  rewind(offset: number): void
  /** Resolves when the handler is not at work, and is not going to be. */
  idle(): Promise<void>
  /** The handler is at work, or will be without another fetch. */
  isBusy(): boolean
  /** The offset to be taken over next. */
  next(): number
}

/**
 * Lets kafkajs fetch on while the handler works: kafkajs itself asks again only when all partitions of its last answer
 * are done, so the last one of a round would work alone. What came meanwhile makes one chunk. Above `bytes_max`, or
 * with a full budget, the partition is paused, so that memory stays bounded. What waits when the signal fires is
 * dropped; nothing of it was begun.
 */
export function createPartitionQueue(options: PartitionQueueOptions): PartitionQueue {
  const { bytes_max, budget, signal, former, needsValue, seek, unpack, deliver, onRefused, onBackwards } = options
  const waiting: Waiting[] = []
  let waiting_bytes = 0
  let next = options.start
  let doubted: number | null = null
  let refused = 0
  let rewound = false
  let resume: (() => void) | null = null
  let work: Promise<void> | null = null
  /** Kept only while there is work, because it holds all that was fetched. */
  let latest: EachBatchPayload | null = null

  /** Pauses the fetch or lets it go on. A partition that holds nothing is always fetched, so that none can starve. */
  function review() {
    const shouldRest = latest !== null && !signal.aborted && (waiting_bytes >= bytes_max || budget.isFull())
    if (shouldRest) {
      resume ??= latest!.pause()
    } else {
      resume?.() // also when the generation ends: kafkajs keeps a pause over a rebalance
      resume = null
    }
  }
  const unwatch = budget.watch(review)

  function dropWaiting() {
    const dropped_bytes = waiting_bytes
    waiting.length = 0
    waiting_bytes = 0
    budget.change(-dropped_bytes)
    review()
  }
  function stop() {
    unwatch()
    dropWaiting()
  }
  signal.addEventListener('abort', stop, { once: true })

  /**
   * Records from another place come from a fetch that was under way during a rebalance or a rewind. If they were taken for
   * the next records, those between would be left out: kafkajs fetches again, from the right place. If the answer is from
   * another place again, the log has nothing there. Records ahead are then taken, after a gap of records that are gone or
   * not ours. Records behind are another history.
   */
  function isNext(fetched_from: number): boolean {
    const isDoubtedAgain = fetched_from === doubted
    doubted = null
    if (fetched_from === next || (isDoubtedAgain && fetched_from > next)) return true
    if (isDoubtedAgain) {
      onBackwards(next, fetched_from)
    } else {
      doubted = fetched_from
      seek(next)
    }
    return false
  }

  /** Takes as many records as one chunk may hold, at least one. */
  function shift(): { records: LogRecord[]; bytes: number } {
    let bytes = 0
    let count = 0
    for (const { bytes: own_bytes } of waiting) {
      if (count > 0 && bytes + own_bytes > bytes_max) break
      bytes += own_bytes
      count += 1
    }
    waiting_bytes -= bytes
    return { records: waiting.splice(0, count).map(({ record }) => record), bytes }
  }

  async function run() {
    await former
    while (waiting.length > 0) {
      const { records, bytes } = shift()
      review()
      await deliverUntilTaken(await unpack(records))
      budget.change(-bytes)
    }
    // Here and not in a `finally`: what comes between would find work under way that no longer looks.
    work = null
    latest = null
    review()
  }

  async function deliverUntilTaken(records: LogRecord[]) {
    rewound = false
    while (!signal.aborted) {
      try {
        await deliver(records, latest!)
        refused = 0
        return
      } catch (err) {
        if (signal.aborted || rewound) return
        refused += 1
        onRefused(err, refused)
        await pause(pauseAfter(refused), undefined, { signal }).catch(() => {})
      }
    }
  }

  return {
    take(payload) {
      if (signal.aborted || !isNext(fetchedFrom(payload))) return
      latest = payload
      const { messages } = payload.batch
      let bytes = 0
      for (const message of messages) {
        const one = toWaiting(toRecord(payload, message), needsValue)
        waiting.push(one)
        bytes += one.bytes
      }
      waiting_bytes += bytes
      // The last offset is enough: kafkajs goes on behind the whole batch, including records that are not ours.
      payload.resolveOffset(messages.at(-1)!.offset)
      next = Number(payload.batch.lastOffset()) + 1
      budget.change(bytes)
      review()
      work ??= run()
    },
    rewind(offset) {
      rewound = true
      next = offset
      doubted = null
      dropWaiting()
      seek(offset)
    },
    idle: () => work ?? former,
    isBusy: () => work !== null,
    next: () => next,
  }
}

const pauseAfter = (refused: number): number =>
  Math.min(kafkaTimeouts.refused_most_ms, kafkaTimeouts.refused_first_ms * 2 ** Math.min(refused - 1, 20))

/** A record between fetch and handler. `bytes`: what it counts in a chunk. */
interface Waiting {
  record: LogRecord
  bytes: number
}

/** A value that nobody needs is dropped here and counts all the same: it bounds how many records wait. */
const toWaiting = (stored: LogRecord, needsValue: NeedsValue | undefined): Waiting =>
  needsValue === undefined || needsValue(stored.headers)
    ? { record: stored, bytes: inflatedBytes(stored) }
    : { record: withoutValue(stored), bytes: stored.value.length }

/** Where kafkajs asked for these records: known to its batch, not to its types. */
const fetchedFrom = ({ batch }: EachBatchPayload): number => Number((batch as unknown as FetchedBatch).fetchedOffset)

interface FetchedBatch {
  fetchedOffset: string
}
