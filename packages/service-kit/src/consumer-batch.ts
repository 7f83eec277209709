import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Broker, Chunk, LogRecord } from '@tributary/broker/broker'
import type { Logger } from 'pino'
import type { Batch, ConsumerDefinition, DecodedRecord } from './consumer.ts'
import { deadLetter } from './consumer-dead-letter.ts'
import { intentMetadata, type Take } from './consumer-intent.ts'
import type { ConsumerMetrics } from './consumer-metrics.ts'
import { type RetryPauses, retryForever } from './consumer-retry.ts'
import type { InTurn } from './consumer-turns.ts'

/** What a crash may follow, in order; see the numbered comments of `handleBatch`. */
export type CrashStep = 1 | 2 | 3 | 4 | 5 | 6

export interface BatchContext<T> {
  broker: Broker
  consumer: ConsumerDefinition<T>
  /** First part of every token: a replay that must write again needs a new one. */
  generation: string
  logger: Logger
  metrics: ConsumerMetrics
  pauses: RetryPauses
  /** One partition decodes at a time: then the first is with its consumer while the others are still decoding. */
  decodeInTurn: InTurn
  crash(step: CrashStep): void | Promise<void>
}

/** What one call of `handle` said; a call that failed leaves no trace in metrics or dead letters. */
interface Tally {
  dead: Map<LogRecord, string>
  dropped: Map<string, number>
  written: number
}

/** Takes one batch through its six steps (architecture.md "event-writer"). The order is what makes it exactly once. */
export async function handleBatch<T>(context: BatchContext<T>, chunk: Chunk, take: Take): Promise<void> {
  const { broker, consumer, crash } = context
  const steady = <R>(step: string, work: () => Promise<R>) => retryForever(attemptsOf(context, chunk, step), work)

  // 1. The records are here, in memory only. A crash now: they are read again, cut in any other way.
  await crash(1)

  // 2. The intent is durable: from now on exactly `from..to` is one batch, whoever handles it. A crash now: the next
  //    owner reads the same range again. A declared intent is committed again: it fails if the partition was lost.
  await steady('intent', () => chunk.commit(take.from, intentMetadata(take.to)))
  await crash(2)

  // 3. What can't be decoded is set apart; nothing left the process. A crash now: as after 2.
  const decoded = await context.decodeInTurn(() => decode(context, take.records))
  await crash(3)

  // 4. The consumer has done its work. A crash in the midst of it or now: the next owner calls `handle` with the same
  //    records and the same token, and the consumer's effects must be idempotent by that token.
  const tally = await steady('handle', () => callHandle(context, chunk, take, decoded))
  await crash(4)

  // 5. Dead letters are durable. A crash now: they are published again; a dead letter may stand there twice, never less.
  const letters = [...tally.dead].map(([record, reason]) => deadLetter(consumer.topic, consumer.name, record, reason))
  if (letters.length > 0) await steady('dead letters', () => broker.publish(letters))
  await crash(5)

  // 6. The batch is over. A crash now: reading goes on behind it.
  await steady('commit', () => chunk.commit(take.to + 1))
  count(context, take, tally)
  await crash(6)
}

/** So long a batch may hold up what else this process does: questions of other partitions, heartbeats, health. */
const slice_ms = 10

interface Decoded<T> {
  good: DecodedRecord<T>[]
  undecodable: LogRecord[]
}

async function decode<T>({ consumer, logger }: BatchContext<T>, records: readonly LogRecord[]): Promise<Decoded<T>> {
  const good: DecodedRecord<T>[] = []
  const undecodable: LogRecord[] = []
  let until = performance.now() + slice_ms
  for (const record of records) {
    if (performance.now() > until) {
      await nextTurn()
      until = performance.now() + slice_ms
    }
    try {
      good.push({ record, value: consumer.decode(record.value, record) })
    } catch (err) {
      const { partition, offset } = record
      logger.error({ err, partition, offset }, 'record cannot be decoded, put into the dead-letter topic')
      undecodable.push(record)
    }
  }
  return { good, undecodable }
}

async function callHandle<T>(
  { consumer, generation }: BatchContext<T>,
  chunk: Chunk,
  { from, to }: Take,
  { good, undecodable }: Decoded<T>,
): Promise<Tally> {
  const { topic, partition, signal } = chunk
  const tally: Tally = {
    dead: new Map(undecodable.map((record) => [record, 'undecodable'])),
    dropped: new Map(),
    written: 0,
  }
  const batch: Batch<T> = {
    topic,
    partition,
    from,
    to,
    token: `${consumer.name}/${generation}/${topic}/${partition}/${from}-${to}`,
    records: good,
    signal,
    dead: (record, reason) => tally.dead.set(record, reason),
    dropped: (reason, count) => tally.dropped.set(reason, (tally.dropped.get(reason) ?? 0) + count),
    written: (count) => {
      tally.written += count
    },
  }
  if (good.length > 0) await consumer.handle(batch)
  return tally
}

function attemptsOf<T>({ consumer, logger, metrics, pauses }: BatchContext<T>, chunk: Chunk, step: string) {
  return {
    step,
    signal: chunk.signal,
    logger: logger.child({ consumer: consumer.name, topic: chunk.topic, partition: chunk.partition }),
    pauses,
    onFailure: () => metrics.failures.inc({ consumer: consumer.name, step }),
  }
}

function count<T>({ consumer: { name: consumer }, metrics }: BatchContext<T>, take: Take, tally: Tally): void {
  metrics.received.inc({ consumer }, take.records.length)
  metrics.written.inc({ consumer }, tally.written)
  if (take.reprocessed) metrics.reprocessed.inc({ consumer }, take.records.length)
  for (const [reason, dropped] of tally.dropped) metrics.dropped.inc({ consumer, reason }, dropped)
  for (const reason of tally.dead.values()) metrics.dead.inc({ consumer, reason })
}
