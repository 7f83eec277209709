import { type Broker, type Chunk, FencedError } from '@tributary/broker/broker'
import { deadLetterTopic } from '@tributary/contracts/topics'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { ConsumerDefinition } from './consumer.ts'
import { type BatchContext, type CrashStep, handleBatch } from './consumer-batch.ts'
import { cutChunk, declare, finish, type Progress, startProgress, type Take } from './consumer-intent.ts'
import { consumerMetrics } from './consumer-metrics.ts'
import { type RetryPauses, StoppedError } from './consumer-retry.ts'
import { takeTurns } from './consumer-turns.ts'
import { withHandOver } from './hand-over.ts'

/** How much makes a batch: the log answers with `bytes_min`, or after `wait_ms_max`, and never above `bytes_max`. */
export interface FetchSizes {
  bytes_min: number
  bytes_max: number
  wait_ms_max: number
}

/**
 * Batches large enough for ClickHouse, small enough to hold one of each partition in memory, fresh within a second.
 * 16 MiB (30 000 events) against 8 halves the merges of a backlog, 1 to 4 us of CPU an event; 24 saves nothing more.
 */
const fetchDefault: FetchSizes = { bytes_min: 1024 * 1024, bytes_max: 16 * 1024 * 1024, wait_ms_max: 500 }
const pausesDefault: RetryPauses = { first_ms: 100, most_ms: 30_000 }
const heartbeat_ms = 1000

export interface RunConsumerOptions<T> {
  broker: Broker
  consumer: ConsumerDefinition<T>
  /** First part of every batch token. The same for the life of the tables; a replay into emptied ones needs a new one. */
  generation: string
  logger: Logger
  registry: Registry
  now(): number
  fetch?: Partial<FetchSizes>
  /** Pauses between tries while a dependency is away. */
  pauses?: RetryPauses
  /** For tests: called after each numbered step; throwing is the crash. */
  crash?(step: CrashStep): void | Promise<void>
}

export interface RunningConsumer {
  /** Lets a try in hand end, starts no other, leaves the group. What is left undone is done after the next start. */
  close(): Promise<void>
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
  const { consumer, registry, now } = options
  const broker = withHandOver(options.broker, consumer, options.logger)
  await broker.partitionCount(consumer.topic.name)
  await broker.partitionCount(deadLetterTopic(consumer.topic).name)
  const metrics = consumerMetrics(registry)
  const logger = options.logger.child({ consumer: consumer.name, topic: consumer.topic.name })
  const context: BatchContext<T> = {
    broker,
    consumer,
    generation: options.generation,
    logger,
    metrics,
    pauses: options.pauses ?? pausesDefault,
    decodeInTurn: takeTurns(1),
    crash: options.crash ?? (() => {}),
  }
  const progressOf = new Map<number, Progress>()
  const inWork = new Map<number, PartitionWork>()

  const stillAlive = () => {
    for (const [partition, { chunk, oldest_ms }] of inWork) {
      metrics.age.set({ consumer: consumer.name, partition }, Math.max(0, now() - oldest_ms) / 1000)
      // A lost partition shows at the next commit; until then there is nothing to be done about it.
      chunk.heartbeat().catch((err) => logger.debug({ err, partition }, 'heartbeat failed'))
    }
  }

  const observeLag = ({ next }: Progress, chunk: Chunk) => {
    const lag = chunk.end_offset - Math.max(next, chunk.records[0]?.offset ?? 0)
    metrics.lag.set({ consumer: consumer.name, partition: chunk.partition }, Math.max(0, lag))
  }

  const onChunk = async (chunk: Chunk) => {
    const { partition } = chunk
    const progress = await progressFor(progressOf, chunk)
    const takes = cutChunk(progress, chunk.records)
    observeLag(progress, chunk)
    inWork.set(partition, { chunk, oldest_ms: oldestOf(progress, chunk) })
    try {
      for (const take of takes) {
        if (chunk.signal.aborted) throw new StoppedError('stopped before the batch was begun')
        declare(progress, take)
        await handleTake(context, chunk, take)
        finish(progress, take)
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

  const timer = setInterval(stillAlive, heartbeat_ms)
  timer.unref()
  const sizes = { ...fetchDefault, ...options.fetch }
  const consumption = await broker.consume({ group: consumer.name, topic: consumer.topic.name, ...sizes, onChunk })
  return {
    async close() {
      await consumption.close()
      clearInterval(timer)
    },
  }
}

/** The progress of this generation; a new generation begins with what the group has committed. */
async function progressFor(progressOf: Map<number, Progress>, chunk: Chunk): Promise<Progress> {
  const known = progressOf.get(chunk.partition)
  if (known?.generation === chunk.generation) return known
  const progress = startProgress(chunk.generation, await chunk.committed())
  progressOf.set(chunk.partition, progress)
  return progress
}

async function handleTake<T>(context: BatchContext<T>, chunk: Chunk, take: Take): Promise<void> {
  const { consumer, logger, metrics } = context
  if (take.lost_from !== null) {
    const until = take.records[0]?.offset ?? take.to + 1
    metrics.lost.inc({ consumer: consumer.name }, until - take.lost_from)
    const range = { partition: chunk.partition, from: take.lost_from, until }
    logger.error(
      range,
      'the log dropped records before they were read: raise its retention, replay from the audit store',
    )
  }
  if (take.records.length === 0) return
  const end = metrics.batch.startTimer({ consumer: consumer.name })
  await handleBatch(context, chunk, take)
  end()
}

const oldestOf = (progress: Progress, chunk: Chunk): number =>
  (progress.gathered[0] ?? chunk.records[0])?.timestamp_ms ?? Number.POSITIVE_INFINITY
