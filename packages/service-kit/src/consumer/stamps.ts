import type { Broker } from '@tributary/broker/broker'
import type { Logger } from 'pino'
import { committedStamps } from './intent.ts'

/** Pause between two searches for stamps of batches whose process died. */
const look_ms = 5000

/** A partition whose batches get stamps. */
export interface StampedPartition {
  consumer: string
  topic: string
  partition: number
}

/** Stamps of a partition that were given to batches and are not known to be over. */
export interface OpenStamps {
  partition: number
  newest_ms: number
}

/**
 * Gives each batch the time at which its rows count as stored, Unix epoch ms (docs/raw.md#time-of-storing). The store
 * and nobody's own clock decides: stamps of a partition rise, and none is given below a time that a reader was promised
 * as complete. All methods reject while the store is away.
 */
export interface StampStore {
  /** A new stamp, which holds back what is complete until it is ended. Stamps of the partition up to `done_ms` are over. */
  pin(at: StampedPartition, done_ms: number): Promise<number>
  /** The batch with this stamp is over, and so is each earlier one of its partition. */
  end(at: StampedPartition, stamp_ms: number): Promise<void>
  findOpen(consumer: string, topic: string): Promise<OpenStamps[]>
  /** Tables lost rows which readers may have: they have to read all again. */
  startEpoch(): Promise<void>
}

interface Stamped {
  broker: Pick<Broker, 'groupOffsets'>
  consumer: { name: string; topic: { name: string }; stamps?: StampStore }
  logger: Logger
}

/** Looks for stamps that a dead process left open, now and after each pause, until the returned function is called. */
export function keepEndingStamps({ broker, consumer, logger }: Stamped): () => void {
  const { name, topic, stamps } = consumer
  if (stamps === undefined) return () => {}
  const look = () =>
    endFinished(stamps, broker, { consumer: name, topic: topic.name }).catch((err) =>
      logger.warn({ err }, 'open stamps could not be compared with the commits'),
    )
  void look()
  const timer = setInterval(look, look_ms).unref()
  return () => clearInterval(timer)
}

/**
 * Ends stamps of batches whose process died before it did so. The open stamps are read before the commits: a stamp is
 * given to a declared batch, so a partition without an open one has ended all stamps that were seen.
 */
async function endFinished(
  store: StampStore,
  broker: Pick<Broker, 'groupOffsets'>,
  { consumer, topic }: Pick<StampedPartition, 'consumer' | 'topic'>,
): Promise<void> {
  const open = new Map((await store.findOpen(consumer, topic)).map((one) => [one.partition, one.newest_ms]))
  if (open.size === 0) return
  for (const { partition, committed, metadata } of await broker.groupOffsets(consumer, topic, { dated: false })) {
    const newest_ms = open.get(partition)
    if (newest_ms === undefined) continue
    const { done_ms, is_open } = committedStamps({ offset: committed ?? 0, metadata: metadata ?? '' })
    const over_ms = is_open ? done_ms : newest_ms
    if (over_ms > 0) await store.end({ consumer, topic, partition }, over_ms)
  }
}
