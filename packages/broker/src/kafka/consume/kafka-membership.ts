import type { Admin, EachBatchPayload } from 'kafkajs'
import { assertOffset, type Chunk, type Committed, FencedError, type LogRecord } from '../../broker.ts'
import { firstUnread } from '../../unread.ts'
import { kafkaTimeouts, within } from '../kafka-client.ts'
import { fetchCommitted, fetchRanges, type PartitionRange } from '../kafka-offsets.ts'

/** Room for finding the coordinator again, besides the commit itself. */
const commit_ms_max = 3 * kafkaTimeouts.request_ms

/** One join of one consumer: everything that a generation holds ends with it. */
export interface Membership {
  generation: string
  partitions: ReadonlySet<number>
  signal: AbortSignal
  /** What the group had committed when this generation began, and this member since. */
  committed(partition: number): Promise<Committed | null>
  /** Where reading begins in this generation. */
  start(partition: number): Promise<number>
  /** The position of an offset in what the log holds now. Rejects with `FencedError` when the partition is gone. */
  locate(partition: number, offset: number): Promise<number>
  commit(payload: EachBatchPayload, offset: number, metadata: string): Promise<void>
  heartbeat(payload: EachBatchPayload): Promise<void>
  /** Partitions are being taken away: nothing new is begun. The broker still takes commits until they are given on. */
  end(): void
  /** The member joined again or is gone: commits are refused here, since kafkajs would send them as the new member. */
  void(): void
}

/**
 * Error types that say: the partition belongs, or may soon belong, to someone else. Not `NOT_COORDINATOR_FOR_GROUP`: a
 * coordinator that moves or comes back keeps its groups, and nothing was committed; kafkajs joins again if need be.
 */
const lostTypes = new Set(['REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'FENCED_INSTANCE_ID'])
const isLost = (error: unknown): boolean => lostTypes.has((error as { type?: string } | null)?.type ?? '')

export function createMembership(
  admin: Admin,
  group: string,
  topic: string,
  generation: string,
  partitions: readonly number[],
): Membership {
  const ending = new AbortController()
  const voided = Promise.withResolvers<never>()
  voided.promise.catch(() => {})
  let isVoid = false
  const allCommitted = fetchOnce(() => fetchCommitted(admin, group, topic))
  const ranges = fetchOnce(() => fetchRanges(admin, topic))
  const since = new Map<number, Committed>()

  async function committed(partition: number): Promise<Committed | null> {
    return since.get(partition) ?? (await allCommitted()).get(partition) ?? null
  }
  function assertHeld(partition: number) {
    if (ending.signal.aborted) throw new FencedError(`${topic}/${partition} was given away`)
  }

  return {
    generation,
    partitions: new Set(partitions),
    signal: ending.signal,
    committed,
    async start(partition) {
      const offset = (await committed(partition))?.offset ?? null
      return positionOf(await ranges(), partition, offset)
    },
    async locate(partition, offset) {
      assertHeld(partition)
      const found = positionOf(await fetchRanges(admin, topic), partition, offset)
      assertHeld(partition)
      return found
    },
    async commit(payload, offset, metadata) {
      const { partition } = payload.batch
      if (isVoid) throw new FencedError(`${topic}/${partition} was given away`)
      try {
        // `consumer.commitOffsets` would resolve without a commit while the consumer stops.
        const commits = [{ partition, offset: String(offset), metadata }]
        const committed = payload.commitOffsetsIfNecessary({ topics: [{ topic, partitions: commits }] })
        // kafkajs may never answer on a connection that it gives up. Whatever became of it: Kafka takes nothing of an
        // old generation, and the new one asks what is committed.
        await within(commit_ms_max, 'commit', Promise.race([committed, voided.promise]))
        since.set(partition, { offset, metadata })
      } catch (error) {
        if (!isLost(error) && !isVoid) throw error
        ending.abort()
        throw new FencedError(`${topic}/${partition} was given away`, { cause: error })
      }
    },
    async heartbeat(payload) {
      try {
        if (!isVoid) await payload.heartbeat()
      } catch (error) {
        if (isLost(error)) ending.abort()
        throw error
      }
    },
    end: () => ending.abort(),
    void() {
      isVoid = true
      ending.abort()
      voided.reject(new Error('given away'))
    },
  }
}

/** Fetches at once and remembers the answer; after a failure each call fetches again. */
function fetchOnce<T>(fetch: () => Promise<T>): () => Promise<T> {
  let fetched = fetch()
  fetched.catch(() => {})
  return () =>
    fetched.catch(() => {
      fetched = fetch()
      return fetched
    })
}

function positionOf(ranges: PartitionRange[], partition: number, committed: number | null): number {
  const range = ranges.find((candidate) => candidate.partition === partition)
  if (range === undefined) throw new Error(`Kafka does not know partition ${partition}`)
  return firstUnread({ ...range, committed })
}

/** The chunk that a handler gets of a fetched batch. */
export function makeChunk(
  membership: Membership,
  payload: EachBatchPayload,
  records: readonly LogRecord[],
  rewind: (offset: number) => void,
): Chunk {
  const { topic, partition, highWatermark } = payload.batch
  return {
    topic,
    partition,
    records,
    generation: membership.generation,
    end_offset: Number(highWatermark),
    signal: membership.signal,
    committed: () => membership.committed(partition),
    commit: (offset, metadata = '') => membership.commit(payload, offset, metadata),
    heartbeat: () => membership.heartbeat(payload),
    async rewind(offset) {
      assertOffset(offset)
      rewind(await membership.locate(partition, offset))
    },
  }
}
