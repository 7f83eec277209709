import type { Topic } from '@tributary/contracts/topics'

/** A record to be appended. The partition is always ours (see partition.ts), so that every client library agrees. */
export interface OutgoingRecord {
  topic: string
  partition: number
  key: string | null
  value: Buffer | PackedValue
  headers?: Record<string, string>
}

/** A record whose value is not packed. */
export interface WholeRecord extends OutgoingRecord {
  value: Buffer
}

export interface LogRecord {
  topic: string
  partition: number
  /** Increases within a partition; gaps are possible. */
  offset: number
  /** When the log took it, Unix epoch ms. */
  timestamp_ms: number
  key: string | null
  value: Buffer
  headers: Record<string, string>
}

/** What a group has committed for a partition: the next offset to read, and free text of at most 4096 bytes. */
export interface Committed {
  offset: number
  metadata: string
}

/** The next records of one partition, in order, never empty. */
export interface Chunk {
  topic: string
  partition: number
  records: readonly LogRecord[]
  /** Changes whenever the partition was given away and came back: in-memory state of an older one is void. */
  generation: string
  /** Offset behind the last record of the partition when this chunk was fetched. */
  end_offset: number
  /** Fires when the partition is taken away or the consumption closes. */
  signal: AbortSignal
  committed(): Promise<Committed | null>
  /** Durable when resolved. Rejects with `FencedError` when the partition belongs to someone else by now. */
  commit(offset: number, metadata?: string): Promise<void>
  /** Says "still alive" during long work. */
  heartbeat(): Promise<void>
  /**
   * Has reading go on from `offset`, or from the earliest record when the log does not have that place, once the
   * handler ends, whether it takes the chunk or rejects it. In memory only, like every position. Rejects with
   * `FencedError` when the partition was taken away or the consumption closes.
   */
  rewind(offset: number): Promise<void>
}

/** Judges a record by its headers, without those of its compression. */
export type NeedsValue = (headers: Readonly<Record<string, string>>) => boolean

export interface ConsumeOptions {
  group: string
  topic: string
  /** The log answers once `bytes_min` are there or `wait_ms_max` have passed. */
  bytes_min: number
  bytes_max: number
  /**
   * Bytes of all partitions together that wait or are in hand; eight chunks by default. Above it a partition is read only
   * when nothing of it is waiting or in hand. The embedded log reads nothing ahead: it holds a chunk of each partition.
   */
  bytes_total_max?: number
  wait_ms_max: number
  /**
   * Tells by the headers of a record whether its value is needed; without it every one is. Other records come with an
   * empty value: the log does not inflate what they hold.
   */
  needsValue?: NeedsValue | undefined
  /**
   * One call at a time per partition. Resolving moves the position behind the chunk, in memory only: nothing is
   * committed but by `chunk.commit`. Rejecting has the same records delivered again after a pause. After a restart
   * or a rebalance reading starts at the committed offset, or at the earliest record when the log does not have it.
   */
  onChunk(chunk: Chunk): Promise<void>
}

export interface Consumption {
  /** Lets the chunks in hand finish, then leaves the group. */
  close(): Promise<void>
}

export interface PartitionOffsets {
  partition: number
  committed: number | null
  /** Text of the last commit; null before the first. */
  metadata: string | null
  earliest: number
  /** Offset behind the last record. */
  end: number
  /** Time of the first record that the group has still to read (`firstUnread`), null when there is none. */
  oldest_unread_ms: number | null
}

/** The commit or the intent of a consumer that lost its partition. Its work will be done by the new owner. */
export class FencedError extends Error {
  override name = 'FencedError'
}

/** Throws for what no record can have. */
export function assertOffset(offset: number): void {
  if (!Number.isSafeInteger(offset) || offset < 0) throw new RangeError(`not an offset: ${offset}`)
}

/** Why topics can't be as wanted; nothing was changed. */
export class TopicsRefused extends Error {
  override name = 'TopicsRefused'
  readonly code: 'topic_differs' | 'too_few_brokers' | 'bad_replication'

  constructor(code: TopicsRefused['code'], message: string) {
    super(message)
    this.code = code
  }
}

export interface AppliedTopics {
  created: string[]
  /** Settings as Kafka names and writes them. */
  changed: { topic: string; setting: string; from: string; to: string }[]
  unchanged: string[]
}

/** The event log: Kafka, or its embedded twin on lmdb. Nothing here is possible in one process only. */
export interface Broker {
  /** Resolves when every record is durable (Kafka `acks=all`); rejects when any may not be. */
  publish(records: readonly OutgoingRecord[]): Promise<void>
  consume(options: ConsumeOptions): Promise<Consumption>
  /**
   * Creates what is missing and brings settings to what is wanted, or with `dryRun` only says so. Rejects with
   * `TopicsRefused`, and changes nothing, when a topic exists with another partition count.
   */
  applyTopics(topics: readonly Topic[], options?: { dryRun?: boolean }): Promise<AppliedTopics>
  /** Partition count of an existing topic; rejects when the topic is unknown. */
  partitionCount(topic: string): Promise<number>
  /**
   * Reads what is committed in all partitions first, and only then their ends: whatever a consumer publishes before it
   * commits lies below the ends that come with that commit.
   * Dating what is unread costs Kafka many requests: with `dated: false`, `oldest_unread_ms` is null.
   */
  groupOffsets(group: string, topic: string, options?: { dated?: boolean }): Promise<PartitionOffsets[]>
  /** Commits offsets of a group without metadata; durable when resolved. Rejects while the group has members. */
  moveGroup(group: string, topic: string, offsets: readonly { partition: number; offset: number }[]): Promise<void>
  /** Offset of the first record that the log took later than `timestamp_ms`; the end of the partition without one. */
  firstOffsetAfter(topic: string, partition: number, timestamp_ms: number): Promise<number>
  /** Rejects when the log can't be used. */
  checkHealth(): Promise<void>
  close(): Promise<void>
}

/** A value that is mostly a client's own gzip, and is stored so: `head`, then what the gzip file holds, then `tail`. */
export interface PackedValue {
  head: Buffer
  /** The gzip file of a client, known to be whole. */
  gzip: Buffer
  /** Bytes that `gzip` inflates to. */
  inflated_bytes: number
  tail: Buffer
}
