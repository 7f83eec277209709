import {
  type Broker,
  type Chunk,
  type Committed,
  type ConsumeOptions,
  FencedError,
  type LogRecord,
} from '@tributary/broker/broker'
import { unpackValue } from '@tributary/broker/gzip/packed-value'
import { firstUnread } from '@tributary/broker/unread'

export interface MemoryBroker extends Broker {
  /** Maximum number of records in a chunk. A test may change it at any time. */
  chunk_records_max: number
  /** All records of a partition. */
  records(topic: string, partition: number): LogRecord[]
  /** Drops the records below `offset`, as retention does. */
  dropBelow(topic: string, partition: number, offset: number): void
  /** Drops the records from `offset` on, as a lost disk or a restored backup does. Commits stay. */
  dropFrom(topic: string, partition: number, offset: number): void
  /** Sets the commit of a group; null removes it. */
  setCommitted(group: string, topic: string, partition: number, committed: Committed | null): void
  committed(group: string, topic: string, partition: number): Committed | undefined
  /** Whether the group has committed all records of the partition. */
  isDone(group: string, topic: string, partition: number): boolean
}

/**
 * A log in memory, for tests that decide where a chunk ends and when an owner changes. Each `consume` takes all partitions
 * of its group, and the former owner notices only at its next commit.
 */
export function memoryBroker(partitions: number, now: () => number): MemoryBroker {
  const logs = new Map<string, { first: number; records: LogRecord[] }>()
  const commits = new Map<string, Committed>()
  const owners = new Map<string, number>()
  const wakers = new Set<() => void>()
  let generations = 0
  const logOf = (topic: string, partition: number) => {
    const name = `${topic}/${partition}`
    const log = logs.get(name) ?? { first: 0, records: [] }
    logs.set(name, log)
    return log
  }

  const asNeeded = ({ needsValue = () => true }: ConsumeOptions, record: LogRecord): LogRecord =>
    needsValue(record.headers) ? record : { ...record, value: Buffer.alloc(0) }

  async function readPartition(broker: MemoryBroker, options: ConsumeOptions, partition: number, stop: AbortSignal) {
    const { group, topic } = options
    const name = `${group}/${topic}/${partition}`
    const generation = ++generations
    owners.set(name, generation)
    const owned = () => {
      if (owners.get(name) !== generation) throw new FencedError(`${name} belongs to another owner`)
    }
    /** The position that a real log uses for an offset that it does not have. */
    const locate = (committed: number) => {
      const { first, records } = logOf(topic, partition)
      return firstUnread({ committed, earliest: first, end: first + records.length })
    }
    let position = locate(commits.get(name)?.offset ?? 0)
    while (!stop.aborted && owners.get(name) === generation) {
      const log = logOf(topic, partition)
      position = locate(position)
      const records = log.records
        .filter((record) => record.offset >= position)
        .slice(0, broker.chunk_records_max)
        .map((record) => asNeeded(options, record))
      const last = records.at(-1)
      if (last === undefined) {
        await new Promise<void>((resolve) => wakers.add(resolve))
        continue
      }
      let next = last.offset + 1
      let rewound = false
      const chunk: Chunk = {
        topic,
        partition,
        records,
        generation: String(generation),
        end_offset: log.first + log.records.length,
        signal: stop,
        committed: async () => commits.get(name) ?? null,
        commit: async (offset, metadata = '') => {
          owned()
          commits.set(name, { offset, metadata })
        },
        heartbeat: async () => owned(),
        rewind: async (offset) => {
          owned()
          next = locate(offset)
          rewound = true
        },
      }
      try {
        await options.onChunk(chunk)
        position = next
      } catch {
        if (rewound) position = next
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
  }

  const broker: MemoryBroker = {
    chunk_records_max: 1000,
    records: (topic, partition) => logOf(topic, partition).records,
    dropBelow(topic, partition, offset) {
      const log = logOf(topic, partition)
      log.records = log.records.filter((record) => record.offset >= offset)
      log.first = offset
    },
    dropFrom(topic, partition, offset) {
      const log = logOf(topic, partition)
      log.records = log.records.filter((record) => record.offset < offset)
    },
    setCommitted(group, topic, partition, committed) {
      const name = `${group}/${topic}/${partition}`
      if (committed === null) commits.delete(name)
      else commits.set(name, committed)
    },
    committed: (group, topic, partition) => commits.get(`${group}/${topic}/${partition}`),
    isDone(group, topic, partition) {
      const { first, records } = logOf(topic, partition)
      const committed = commits.get(`${group}/${topic}/${partition}`)?.offset ?? null
      const unread = firstUnread({ committed, earliest: first, end: first + records.length })
      return !records.some(({ offset }) => offset >= unread)
    },
    async publish(outgoing) {
      for (const { topic, partition, key, value, headers = {} } of outgoing) {
        const log = logOf(topic, partition)
        const offset = log.first + log.records.length
        log.records.push({ topic, partition, offset, timestamp_ms: now(), key, value: unpackValue(value), headers })
      }
      for (const wake of wakers) wake()
      wakers.clear()
    },
    async consume(options) {
      const stop = new AbortController()
      const all = Array.from({ length: partitions }, (_, n) => readPartition(broker, options, n, stop.signal))
      return {
        async close() {
          stop.abort()
          for (const wake of wakers) wake()
          await Promise.all(all)
        },
      }
    },
    applyTopics: async (wanted) => ({ created: [], changed: [], unchanged: wanted.map(({ name }) => name) }),
    partitionCount: async () => partitions,
    async groupOffsets(group, topic) {
      return Array.from({ length: partitions }, (_, partition) => {
        const { first, records } = logOf(topic, partition)
        const { offset: committed = null, metadata = null } = commits.get(`${group}/${topic}/${partition}`) ?? {}
        const place = { committed, earliest: first, end: first + records.length }
        const oldest = records.find((record) => record.offset >= firstUnread(place))
        return { partition, metadata, ...place, oldest_unread_ms: oldest?.timestamp_ms ?? null }
      })
    },
    async moveGroup(group, topic, moved) {
      for (const { partition, offset } of moved) commits.set(`${group}/${topic}/${partition}`, { offset, metadata: '' })
    },
    async firstOffsetAfter(topic, partition, timestamp_ms) {
      const { first, records } = logOf(topic, partition)
      return records.find((record) => record.timestamp_ms > timestamp_ms)?.offset ?? first + records.length
    },
    checkHealth: async () => {
      throw new Error('a log in memory is never ready: it is for tests')
    },
    close: async () => {},
  }
  return broker
}
