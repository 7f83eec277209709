import type { Topic } from '@tributary/contracts/topics'

/** A record to append. Callers compute its partition (see partition.ts), so that it is the same with every client library. */
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
  /**
   * A getter on the embedded log: each access inflates anew and keeps nothing, so take it once; `{ ...record }` inflates it too. A record
   * that is passed over, or decoded, then holds no inflated bytes.
   */
  readonly value: Buffer
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
  /** Another value whenever the partition was lost and taken again: in-memory state of an older generation is void. */
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
   * Continues reading from `offset` once the handler ends, with or without an error; from the earliest record when the log does
   * not have that offset. This holds in memory only: nothing is committed. Rejects with `FencedError` when the partition was taken
   * away or the consumption closes.
   */
  rewind(offset: number): Promise<void>
}

/** Decides by the headers of a record, without those of its compression, whether its value is needed. */
export type NeedsValue = (headers: Readonly<Record<string, string>>) => boolean

export interface ConsumeOptions {
  group: string
  topic: string
  /** The log answers once `bytes_min` are there or `wait_ms_max` have passed. */
  bytes_min: number
  bytes_max: number
  /**
   * Bound of the fetched bytes of all partitions, those that wait and those in their handlers; eight chunks by default. Above it
   * only partitions without any such bytes are read. The embedded log reads nothing ahead: it holds one chunk of each partition.
   */
  bytes_total_max?: number
  wait_ms_max: number
  /**
   * Whether the value of a record is needed; without this function every value is. Other records come with an empty value: the
   * log does not inflate them.
   */
  needsValue?: NeedsValue | undefined
  /**
   * One call at a time per partition. When it resolves, the position moves behind the chunk, in memory only: only `chunk.commit`
   * commits. When it rejects, the same records are delivered again after a pause. After a restart or a rebalance reading starts at
   * the committed offset, or at the earliest record when the log does not have it.
   */
  onChunk(chunk: Chunk): Promise<void>
}

export interface Consumption {
  /** Waits until the running handlers end, then leaves the group. */
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

/** Rejects a commit or an intent of a consumer that lost its partition. The new owner does the work. */
export class FencedError extends Error {
  override name = 'FencedError'
}

/** Throws for a number that no record can have as its offset. */
export function assertOffset(offset: number): void {
  if (!Number.isSafeInteger(offset) || offset < 0) throw new RangeError(`not an offset: ${offset}`)
}

/** Why `applyTopics` changed nothing. */
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
  /** Settings by the names and values of Kafka. */
  changed: { topic: string; setting: string; from: string; to: string }[]
  unchanged: string[]
}

/** The event log: Kafka, or its embedded twin on lmdb. Every method here works between processes. */
export interface Broker {
  /** Resolves when every record is durable (Kafka `acks=all`); rejects when any may not be. */
  publish(records: readonly OutgoingRecord[]): Promise<void>
  consume(options: ConsumeOptions): Promise<Consumption>
  /**
   * Creates missing topics and changes settings to those given; with `dryRun` it only reports what it would do. Rejects with
   * `TopicsRefused`, and changes nothing, when a topic exists with another number of partitions.
   */
  applyTopics(topics: readonly Topic[], options?: { dryRun?: boolean }): Promise<AppliedTopics>
  /** Partition count of an existing topic; rejects when the topic is unknown. */
  partitionCount(topic: string): Promise<number>
  /**
   * Reads the commits of all partitions first and their ends after that. So all that a consumer publishes before a commit lies
   * below the ends that come with this commit. With `dated: false`, `oldest_unread_ms` is null: its look-up costs Kafka many
   * requests.
   */
  groupOffsets(group: string, topic: string, options?: { dated?: boolean }): Promise<PartitionOffsets[]>
  /** Commits offsets of a group without metadata; durable when resolved. Rejects while the group has members. */
  moveGroup(group: string, topic: string, offsets: readonly { partition: number; offset: number }[]): Promise<void>
  /** Offset of the first record that the log took after `timestamp_ms`; the end of the partition if there is none. */
  firstOffsetAfter(topic: string, partition: number, timestamp_ms: number): Promise<number>
  /** Rejects when the log can't be used. */
  checkHealth(): Promise<void>
  close(): Promise<void>
}

/** A value that is stored with the client's own gzip file in it. Its text is `head`, then the inflated file, then `tail`. */
export interface PackedValue {
  head: Buffer
  /** The gzip file of a client, known to be whole. */
  gzip: Buffer
  /** Bytes that `gzip` inflates to. */
  inflated_bytes: number
  tail: Buffer
}
