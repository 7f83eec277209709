import { setTimeout as pause } from 'node:timers/promises'
import type { Admin } from 'kafkajs'
import type { Committed, PartitionOffsets } from '../broker.ts'
import { firstUnread, lagOf } from '../unread.ts'
import { kafkaTimeouts } from './kafka-client.ts'

/** What a group has committed, by partition; null where it has nothing. */
export async function fetchCommitted(
  admin: Admin,
  group: string,
  topic: string,
): Promise<Map<number, Committed | null>> {
  const [answer] = await whileRetriable(() => admin.fetchOffsets({ groupId: group, topics: [topic] }))
  return new Map(
    (answer?.partitions ?? []).map(({ partition, offset, metadata }) => {
      // Negative: nothing was committed, or kafkajs marked a position that the log no longer has.
      const committed = Number(offset) < 0 ? null : { offset: Number(offset), metadata: metadata ?? '' }
      return [partition, committed]
    }),
  )
}

export interface PartitionRange {
  partition: number
  /** The first offset that the log still has. */
  earliest: number
  /** Offset behind the last record. */
  end: number
}

export async function fetchRanges(admin: Admin, topic: string): Promise<PartitionRange[]> {
  const ranges = await whileRetriable(() => admin.fetchTopicOffsets(topic))
  return ranges.map(({ partition, low, high }) => ({ partition, earliest: Number(low), end: Number(high) }))
}

/**
 * kafkajs gives up at once, or after three seconds, when the coordinator of a group or the leader of a partition has just
 * moved or is still loading, as they are for a first group and a new topic.
 */
async function whileRetriable<T>(fetch: () => Promise<T>): Promise<T> {
  for (const deadline = performance.now() + kafkaTimeouts.coordinator_ms_max; ; await pause(100)) {
    try {
      return await fetch()
    } catch (error) {
      if (!isPassing(error) || performance.now() > deadline) throw error
    }
  }
}

/**
 * kafkajs keeps the metadata of one request at a time: a look-up of another topic that ends meanwhile takes it away, which
 * shows as a TypeError of its own code.
 */
const isPassing = (error: unknown): boolean =>
  error instanceof TypeError ||
  (error as { retriable?: boolean }).retriable === true ||
  // A new Kafka makes the topic of its groups when the first one is asked for.
  (error as Error).name === 'KafkaJSGroupCoordinatorNotFound' ||
  isPassingAnswer((error as Error).cause)

/** Whether Kafka itself gave the answer that kafkajs retried in vain; a Kafka that is away gives none. A missing topic stays missing. */
const isPassingAnswer = (cause: unknown): boolean => {
  const { type, retriable } = (cause ?? {}) as { type?: string; retriable?: boolean }
  return type !== undefined && retriable === true && type !== 'UNKNOWN_TOPIC_OR_PARTITION'
}

/**
 * Where a group stands in each partition. `oldest_unread_ms` is found by asking for offsets by time, since kafkajs
 * can't read without joining a group: never later than the true time, and earlier by at most 1/16 of the age. Without
 * `now_ms` nothing is dated.
 */
export async function fetchGroupOffsets(
  admin: Admin,
  group: string,
  topic: string,
  now_ms: number | null,
): Promise<PartitionOffsets[]> {
  // Commits are read first: an end that was read before them could lie below what was committed since.
  const committed = await fetchCommitted(admin, group, topic)
  const ranges = await fetchRanges(admin, topic)
  const offsets = ranges
    .map((range) => ({
      ...range,
      committed: committed.get(range.partition)?.offset ?? null,
      metadata: committed.get(range.partition)?.metadata ?? null,
      oldest_unread_ms: null as number | null,
    }))
    .sort((a, b) => a.partition - b.partition)
  const behind = offsets.filter((of) => lagOf(of) > 0)
  if (now_ms !== null) await dateOldest(behind, (ms) => offsetsAt(admin, topic, ms), now_ms)
  return offsets
}

/** First offset at or after a time, by partition; the end of the partition when there is none. */
async function offsetsAt(admin: Admin, topic: string, ms: number): Promise<Map<number, number>> {
  const found = await whileRetriable(() => admin.fetchTopicOffsetsByTimestamp(topic, ms))
  return new Map(found.map(({ partition, offset }) => [partition, Number(offset)]))
}

/** See `Broker.firstOffsetAfter`. A topic's time is when the log took a record, in whole ms. */
export async function fetchFirstOffsetAfter(
  admin: Admin,
  topic: string,
  partition: number,
  timestamp_ms: number,
): Promise<number> {
  const offset = (await offsetsAt(admin, topic, Math.floor(timestamp_ms) + 1)).get(partition)
  if (offset === undefined) throw new RangeError(`${topic} has no partition ${partition}`)
  return offset
}

const ahead_ms = 60_000
const age_ms_max = 400 * 24 * 3_600_000

/** Looks back in doubling steps for all partitions together, then halves what is left a few times for each. */
async function dateOldest(
  behind: PartitionOffsets[],
  offsetsAt: (ms: number) => Promise<Map<number, number>>,
  now_ms: number,
): Promise<void> {
  /** Whether the oldest unread record is of `ms` or later. */
  const isSince = (of: PartitionOffsets, at: Map<number, number>) => (at.get(of.partition) ?? 0) <= firstUnread(of)
  const open = new Set(behind)
  // The clocks of broker and caller differ: the search begins in the future.
  let later_ms = now_ms + ahead_ms
  for (let age_ms = 50; open.size > 0; age_ms *= 2) {
    const earlier_ms = age_ms > age_ms_max ? 0 : now_ms - age_ms
    const at = await offsetsAt(earlier_ms)
    for (const offsets of [...open].filter((candidate) => earlier_ms === 0 || isSince(candidate, at))) {
      open.delete(offsets)
      let [low, high] = [earlier_ms, later_ms]
      while (high - low > Math.max(1, (now_ms - low) / 16)) {
        const middle = Math.floor((low + high) / 2)
        if (isSince(offsets, await offsetsAt(middle))) low = middle
        else high = middle
      }
      offsets.oldest_unread_ms = low
    }
    later_ms = earlier_ms
  }
}
