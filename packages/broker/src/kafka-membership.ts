import type { Admin, EachBatchPayload } from 'kafkajs'
import { type Chunk, type Committed, FencedError, type LogRecord } from './broker.ts'
import { fetchCommitted } from './kafka-offsets.ts'

/** One join of one consumer: everything that a generation holds ends with it. */
export interface Membership {
  generation: string
  partitions: ReadonlySet<number>
  signal: AbortSignal
  /** What the group had committed when this generation began, and this member since. */
  committed(partition: number): Promise<Committed | null>
  commit(payload: EachBatchPayload, offset: number, metadata: string): Promise<void>
  heartbeat(payload: EachBatchPayload): Promise<void>
  /** Partitions are being taken away: nothing new is begun. The broker still takes commits until they are given on. */
  end(): void
  /** The member joined again or is gone: commits are refused here, since kafkajs would send them as the new member. */
  void(): void
}

/** Error types that say: the partition belongs, or may soon belong, to someone else. */
const lostTypes = new Set([
  'REBALANCE_IN_PROGRESS',
  'ILLEGAL_GENERATION',
  'UNKNOWN_MEMBER_ID',
  'FENCED_INSTANCE_ID',
  'NOT_COORDINATOR_FOR_GROUP',
])
const isLost = (error: unknown): boolean => lostTypes.has((error as { type?: string } | null)?.type ?? '')

export function createMembership(
  admin: Admin,
  group: string,
  topic: string,
  generation: string,
  partitions: readonly number[],
): Membership {
  const ending = new AbortController()
  let voided = false
  const fetchAll = () => fetchCommitted(admin, group, topic)
  // Asked for at once: later kafkajs may have moved an offset that the log no longer has, and the intent with it.
  let all = fetchAll()
  all.catch(() => {})
  const since = new Map<number, Committed>()

  return {
    generation,
    partitions: new Set(partitions),
    signal: ending.signal,
    async committed(partition) {
      const own = since.get(partition)
      if (own !== undefined) return own
      try {
        return (await all).get(partition) ?? null
      } catch {
        all = fetchAll()
        return (await all).get(partition) ?? null
      }
    },
    async commit(payload, offset, metadata) {
      const { partition } = payload.batch
      if (voided) throw new FencedError(`${topic}/${partition} was given away`)
      try {
        // Not `consumer.commitOffsets`: that one resolves without a commit while the consumer stops.
        const commits = [{ partition, offset: String(offset), metadata }]
        await payload.commitOffsetsIfNecessary({ topics: [{ topic, partitions: commits }] })
        since.set(partition, { offset, metadata })
      } catch (error) {
        if (!isLost(error)) throw error
        ending.abort()
        throw new FencedError(`${topic}/${partition} was given away`, { cause: error })
      }
    },
    async heartbeat(payload) {
      try {
        if (!voided) await payload.heartbeat()
      } catch (error) {
        if (isLost(error)) ending.abort()
        throw error
      }
    },
    end: () => ending.abort(),
    void() {
      voided = true
      ending.abort()
    },
  }
}

/** The chunk that a handler gets of a fetched batch. */
export function makeChunk(membership: Membership, payload: EachBatchPayload, records: readonly LogRecord[]): Chunk {
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
  }
}

/** Records of a fetch in pieces of at most `bytes_max` inflated bytes: Kafka counts them compressed. */
export function* sliceRecords({ batch }: EachBatchPayload, bytes_max: number): Generator<LogRecord[]> {
  let slice: LogRecord[] = []
  let bytes = 0
  for (const message of batch.messages) {
    const record: LogRecord = {
      topic: batch.topic,
      partition: batch.partition,
      offset: Number(message.offset),
      timestamp_ms: Number(message.timestamp),
      key: message.key?.toString() ?? null,
      value: message.value ?? Buffer.alloc(0),
      headers: headersOf(message.headers),
    }
    if (slice.length > 0 && bytes + record.value.length > bytes_max) {
      yield slice
      slice = []
      bytes = 0
    }
    slice.push(record)
    bytes += record.value.length
  }
  if (slice.length > 0) yield slice
}

function headersOf(headers: EachBatchPayload['batch']['messages'][number]['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name, String(value ?? '')]))
}
