import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { assertOffset, type Chunk, type ConsumeOptions, type Consumption, FencedError } from '../broker.ts'
import type { CommittedOffsets } from './committed-offsets.ts'
import type { ConsumerGroup, Lease } from './consumer-group.ts'
import type { LogStore, PartitionEnd } from './log-store.ts'
import type { Fetched, PartitionLog } from './partition-log.ts'

const metadata_bytes_max = 4096
const redelivery_pause_ms_min = 100
const redelivery_pause_ms_max = 10_000

interface Deps {
  store: LogStore
  offsets: CommittedOffsets
  group: ConsumerGroup
  logs: readonly PartitionLog[]
  logger?: Pick<Logger, 'warn'>
}

/** Joins the group: one loop per partition that the group gives it. */
export function openConsumption(options: ConsumeOptions, deps: Deps): Consumption {
  const leases = new Set<Lease>()
  const loops = new Map<number, Promise<void>>()
  let closed: Promise<void> | null = null

  const member = {
    take(lease: Lease) {
      if (closed !== null) return
      leases.add(lease)
      // A partition that came back while the last chunk of its former lease is in hand: one call at a time.
      const former = loops.get(lease.partition) ?? Promise.resolve()
      loops.set(
        lease.partition,
        former.then(() => runPartition(lease, options, deps)).finally(() => leases.delete(lease)),
      )
    },
  }

  async function close() {
    for (const lease of leases) lease.stop.abort()
    await Promise.all(loops.values())
    // The member leaves last, since what its chunks commit until then is still theirs.
    deps.group.leave(member)
  }

  deps.group.join(member)
  return {
    close() {
      closed ??= close()
      return closed
    },
  }
}

/** Where the handler of a chunk wants reading to go on; null: behind the chunk. */
interface Cursor {
  rewound_to: number | null
}

/** Reads one partition until the lease ends. */
async function runPartition(lease: Lease, options: ConsumeOptions, deps: Deps): Promise<void> {
  const { signal } = lease.stop
  const log = deps.logs[lease.partition]!
  let position: PartitionEnd | null = null
  while (!signal.aborted) {
    try {
      position ??= await startPosition(lease, options, deps)
      if (!(await awaitBytes(log, position, options, signal))) return
      const fetched: Fetched = log.read(position.offset, options.bytes_max, options.needsValue)
      const cursor: Cursor = { rewound_to: null }
      if (!(await deliver(chunkOf(fetched, lease, cursor, options, deps), cursor, options, deps))) return
      position = cursor.rewound_to === null ? fetched.next : log.locate(cursor.rewound_to)
    } catch (error) {
      deps.logger?.warn({ err: error, group: options.group, topic: log.topic }, 'reading the log failed')
      await pause(redelivery_pause_ms_max, undefined, { signal }).catch(() => {})
    }
  }
}

/** The committed offset, else the earliest; after what a former owner is just committing has been decided. */
async function startPosition(lease: Lease, options: ConsumeOptions, deps: Deps): Promise<PartitionEnd> {
  await deps.store.queue.submit({ stage: () => {} })
  const committed = deps.offsets.get(options.group, options.topic, lease.partition)
  return deps.logs[lease.partition]!.locate(committed?.offset ?? 0)
}

/**
 * Kafka's fetch: true once `bytes_min` are there, or something is and `wait_ms_max` have passed since the fetch began.
 * Counted per partition, where Kafka counts over the partitions of one fetch.
 */
async function awaitBytes(
  log: PartitionLog,
  position: PartitionEnd,
  { bytes_min, wait_ms_max }: ConsumeOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const until = performance.now() + wait_ms_max
  while (!signal.aborted) {
    const available = log.end().bytes - position.bytes
    const left_ms = until - performance.now()
    if (available > 0 && (available >= bytes_min || left_ms <= 0)) return true
    await log.changed(available > 0 ? Math.ceil(left_ms) : null, signal)
  }
  return false
}

/** True when the chunk was taken or rewound; the same chunk comes again until then. False when the lease ended first. */
async function deliver(chunk: Chunk, cursor: Cursor, options: ConsumeOptions, deps: Deps): Promise<boolean> {
  for (let pause_ms = redelivery_pause_ms_min; ; pause_ms = Math.min(pause_ms * 2, redelivery_pause_ms_max)) {
    try {
      await options.onChunk(chunk)
      return true
    } catch (error) {
      if (chunk.signal.aborted) return false
      if (cursor.rewound_to !== null) return true
      const { topic, partition } = chunk
      deps.logger?.warn({ err: error, group: options.group, topic, partition, pause_ms }, 'chunk not taken')
    }
    await pause(pause_ms, undefined, { signal: chunk.signal }).catch(() => {})
    if (chunk.signal.aborted) return false
  }
}

function chunkOf(
  { records }: Fetched,
  lease: Lease,
  cursor: Cursor,
  { group, topic }: ConsumeOptions,
  deps: Deps,
): Chunk {
  const { partition, generation } = lease
  function assertOwned() {
    if (!lease.owned) throw new FencedError(`${group} lost partition ${partition} of ${topic}`)
  }
  return {
    topic,
    partition,
    records,
    generation,
    end_offset: deps.logs[partition]!.end().offset,
    signal: lease.stop.signal,
    async committed() {
      return deps.offsets.get(group, topic, partition)
    },
    async commit(offset, metadata = '') {
      assertOffset(offset)
      if (Buffer.byteLength(metadata) > metadata_bytes_max) {
        throw new RangeError(`commit metadata over ${metadata_bytes_max} bytes`)
      }
      await deps.store.queue.submit(deps.offsets.write(group, topic, partition, { offset, metadata }, assertOwned))
    },
    async heartbeat() {
      assertOwned()
    },
    async rewind(offset) {
      assertOffset(offset)
      if (lease.stop.signal.aborted) throw new FencedError(`${group} reads partition ${partition} of ${topic} no more`)
      cursor.rewound_to = offset
    },
  }
}
