import { type Broker, type Chunk, FencedError, type LogRecord } from '@tributary/broker/broker'
import { deadLetterTopic } from '@tributary/contracts/topics'
import { Mutex, Semaphore } from 'async-mutex'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { MisfitTroubles } from '../service/troubles/misfit-troubles.ts'
import { traceBatch } from '../traces/trace-log.ts'
import type { Traces } from '../traces/traces.ts'
import { type BatchContext, type CrashStep, type Decoded, decodeBatch, handleBatch } from './batch.ts'
import type { ConsumerDefinition, FetchSizes } from './define-consumer.ts'
import { withHandOver } from './hand-over.ts'
import { declare, lacksDeclared, type Progress, sourceOf, type Take, takeFresh, wasReplaced } from './intent.ts'
import { consumerMetrics } from './metrics.ts'
import { reconcileOffsets } from './reconcile-offsets.ts'
import { type RetryPauses, StoppedError } from './retry.ts'
import { keepEndingStamps } from './stamps.ts'
import { goOnAsNewLog, leaveIntent, takeOverPartition } from './take-over.ts'

/**
 * With these sizes batches are large enough for ClickHouse and small enough to hold some in memory, and records wait less than a second.
 * With 16 MiB (30 000 events) instead of 8, a backlog needs half the merges and saves 1 to 4 us of CPU an event. 24 MiB saves nothing more.
 */
const fetchDefault: FetchSizes = {
  bytes_min: 1024 * 1024,
  bytes_max: 16 * 1024 * 1024,
  wait_ms_max: 500,
  // This bound keeps a writer of twelve partitions near 600 MB, and makes its chunks little smaller
  // (docs/decisions/log.md#partitions-of-a-consumer-share-one-memory-bound).
  bytes_total_max: 48 * 1024 * 1024,
}
/**
 * Batches that a process handles at the same time, each as large as the consumer's bounds, because the rows of a record
 * can be thirty times its own bytes. Two batches are inserted while one is decoded and looked up.
 */
const batches_at_once = 3
const pausesDefault: RetryPauses = { first_ms: 100, most_ms: 30_000 }
const heartbeat_ms = 1000

export interface RunConsumerOptions<T> {
  broker: Broker
  consumer: ConsumerDefinition<T>
  logger: Logger
  registry: Registry
  now(): number
  fetch?: Partial<FetchSizes>
  /**
   * Reads the whole log again, from its earliest record. Records that were written before are found by their keys and
   * change nothing.
   */
  reread?: boolean
  /** Keeps the misfits that were found, for `/health`. */
  misfits?: MisfitTroubles
  traces?: Traces | undefined
  /** Pauses between tries while a dependency is away. */
  pauses?: RetryPauses
  /** For tests: called after each numbered step of a batch. If it throws, that is the crash. */
  crash?(step: CrashStep): void | Promise<void>
}

export interface RunningConsumer {
  /** Waits for the current try, starts no other, and leaves the group. The next start does the rest. */
  close(): Promise<void>
}

/** The current chunk must not be handled, because reading continues at another position. */
class RewoundError extends Error {
  override name = 'RewoundError'
}

interface PartitionWork {
  chunk: Chunk
  oldest_ms: number
}

/**
 * Runs a consumer until it is closed: each record is handled, in order within its partition, in batches that come
 * again unchanged after a crash. Rejects when the topic or its dead-letter topic is missing.
 */
export async function runConsumer<T>(options: RunConsumerOptions<T>): Promise<RunningConsumer> {
  const { consumer, registry, now, traces } = options
  const broker = withHandOver(options.broker, consumer, options.logger)
  await broker.partitionCount(consumer.topic.name)
  await broker.partitionCount(deadLetterTopic(consumer.topic).name)
  const metrics = consumerMetrics(registry)
  const logger = options.logger.child({ consumer: consumer.name, topic: consumer.topic.name })
  const slots = new Semaphore(batches_at_once)
  const context: BatchContext<T> = {
    broker,
    consumer,
    logger,
    metrics,
    misfits: options.misfits,
    pauses: options.pauses ?? pausesDefault,
    slots,
    crash: options.crash ?? (() => {}),
  }
  const progressOf = new Map<number, Progress>()
  const inWork = new Map<number, PartitionWork>()

  const stillAlive = () => {
    for (const [partition, { chunk, oldest_ms }] of inWork) {
      metrics.age.set({ consumer: consumer.name, partition }, Math.max(0, now() - oldest_ms) / 1000)
      // The next commit shows that a partition is lost; nothing can be done before.
      chunk.heartbeat().catch((err) => logger.debug({ err, partition }, 'heartbeat failed'))
    }
  }

  const observeLag = ({ next }: Progress, chunk: Chunk) => {
    const lag = chunk.end_offset - Math.max(next, chunk.records[0]?.offset ?? 0)
    metrics.lag.set({ consumer: consumer.name, partition: chunk.partition }, Math.max(0, lag))
    if (lag <= 0) options.misfits?.caughtUp(consumer.name, chunk.partition)
  }

  // One partition decodes at a time, so the first batch is handled while the others are still decoded.
  const decoding = new Mutex()

  /** The first batch of the records: the declared range, else as much as the consumer's bounds allow. */
  async function nextTake(progress: Progress, records: readonly LogRecord[]): Promise<Take<Decoded<T>>> {
    const { intent } = progress
    const source = sourceOf(consumer.topic.name, progress)
    if (intent === null) {
      const decoded = await decoding.runExclusive(() => decodeBatch(context, records, source))
      const [first, last] = [decoded[0]!.record, decoded.at(-1)!.record]
      return { from: first.offset, to: last.offset, records: decoded, reprocessed: false }
    }
    const declared = records.filter(({ offset }) => offset <= intent.to)
    const decoded = await decoding.runExclusive(() => decodeBatch(context, declared, source, null))
    return { ...intent, records: decoded, reprocessed: true }
  }

  async function handleNext(progress: Progress, chunk: Chunk, records: readonly LogRecord[]): Promise<number> {
    if (chunk.signal.aborted) throw new StoppedError('stopped before the batch was begun')
    const expected = progress.intent?.from ?? progress.next
    const take = await nextTake(progress, records)
    countLost(context, chunk.partition, expected, take.records[0]?.record.offset ?? take.to + 1)
    declare(progress, take, take.records)
    if (take.records.length === 0) {
      Object.assign(progress, { next: take.to + 1, intent: null })
      return 0
    }
    const end = metrics.batch.startTimer({ consumer: consumer.name })
    await traceBatch(traces, consumer, chunk.partition, take, () => handleBatch(context, chunk, progress, take))
    end()
    return take.records.length
  }

  /** The progress of this generation; a new generation begins with what the group has committed. */
  async function progressFor(chunk: Chunk): Promise<Progress> {
    const { partition, generation } = chunk
    const known = progressOf.get(partition)
    if (known?.generation === generation) return known
    const { progress, rewound } = await takeOverPartition(context, chunk, putBack)
    progressOf.set(partition, progress)
    // Its new owner reports the lag from now on.
    const forget = () => metrics.lag.remove({ consumer: consumer.name, partition })
    chunk.signal.addEventListener('abort', forget, { once: true })
    if (rewound) throw new RewoundError(`${chunk.topic}/${partition} is read again`)
    return progress
  }

  const onChunk = async (chunk: Chunk) => {
    const { partition } = chunk
    const progress = await progressFor(chunk)
    if (wasReplaced(progress, chunk)) goOnAsNewLog(context, progress, chunk, 'log_replaced', chunk.records[0]!.offset)
    else if (lacksDeclared(progress, chunk)) leaveIntent(context, progress, chunk)
    let records: readonly LogRecord[] = takeFresh(progress, chunk.records)
    observeLag(progress, chunk)
    inWork.set(partition, { chunk, oldest_ms: oldestOf(progress, chunk) })
    try {
      while (records.length > 0) {
        const handled = await slots.runExclusive(() => handleNext(progress, chunk, records))
        records = records.slice(handled)
        observeLag(progress, chunk)
      }
    } catch (err) {
      // The records come again, here or at the new owner; the progress of this generation stays as it is.
      if (err instanceof FencedError || err instanceof StoppedError) {
        logger.info({ partition, reason: err.name }, 'batch left to the next owner')
      } else {
        logger.error({ err, partition }, 'batch broken off')
      }
      throw err
    } finally {
      inWork.delete(partition)
      metrics.age.set({ consumer: consumer.name, partition }, 0)
    }
  }

  const putBack = await reconcileOffsets(context, options.reread ?? false)
  const timer = setInterval(stillAlive, heartbeat_ms)
  timer.unref()
  const leaveStamps = keepEndingStamps(context)
  const sizes = { ...fetchDefault, ...consumer.fetch, ...options.fetch }
  const { name: group, topic, needsValue } = consumer
  const consumption = await broker.consume({ group, topic: topic.name, ...sizes, needsValue, onChunk })
  return {
    async close() {
      await consumption.close()
      clearInterval(timer)
      leaveStamps()
    },
  }
}

/** Counts the records that the log had dropped before they were read. */
function countLost<T>({ consumer, logger, metrics }: BatchContext<T>, partition: number, from: number, until: number) {
  if (from < 0 || until <= from) return
  metrics.lost.inc({ consumer: consumer.name }, until - from)
  logger.error(
    { partition, from, until },
    'the log dropped records before they were read: raise its retention, and run `tributary replay --from-audit`',
  )
}

const oldestOf = (progress: Progress, chunk: Chunk): number =>
  (progress.gathered[0] ?? chunk.records[0])?.timestamp_ms ?? Number.POSITIVE_INFINITY
