import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Broker, Chunk, LogRecord } from '@tributary/broker/broker'
import { noTombstones, salt_unreadable } from '@tributary/domain/erasure/tombstones'
import type { Semaphore } from 'async-mutex'
import type { Logger } from 'pino'
import type { MisfitTroubles } from '../service/troubles/misfit-troubles.ts'
import { deadLetter } from './dead-letter.ts'
import type { Batch, BatchBounds, ConsumerDefinition, DecodedRecord } from './define-consumer.ts'
import { doneNote, finish, intentNote, newestOf, type Progress, sourceOf, type Take } from './intent.ts'
import type { ConsumerMetrics } from './metrics.ts'
import { findLocked, locked_message, lockedFields, type Pinned, pinBatch } from './pin-batch.ts'
import { type RetryPauses, retryForever } from './retry.ts'

/** The steps that a crash may follow, in order; see the numbered comments of `handleBatch`. */
export type CrashStep = 1 | 2 | 3 | 4 | 5

export interface BatchContext<T> {
  broker: Broker
  consumer: ConsumerDefinition<T>
  logger: Logger
  metrics: ConsumerMetrics
  misfits: Pick<MisfitTroubles, 'found' | 'caughtUp'> | undefined
  pauses: RetryPauses
  /** How many batches are handled at once. A batch that waits for its next try gives its slot to others. */
  slots: Semaphore
  crash(step: CrashStep): void | Promise<void>
}

/** A record and its value. `value` is absent when the record cannot be decoded, and when it is passed over. */
export interface Decoded<T> {
  record: LogRecord
  value?: T
  passed?: boolean
}

/** The report of one call of `handle`; a call that failed leaves no trace in metrics or dead letters. */
interface Tally {
  dead: Map<LogRecord, string>
  dropped: Map<string, number>
  written: number
  state: unknown
}

/** How long a declared intent proves ownership. Kafka gives a partition away only after a far longer silence. */
const fence_fresh_ms = 1000

/**
 * Two clocks that show whether the process slept. The first may stop during a sleep, and somebody may change the
 * second.
 */
const clocks = () => [performance.now(), Date.now()] as const

/**
 * Takes one batch through its steps (docs/decisions/log.md#a-batch-has-an-intent-in-the-offset-metadata,
 * docs/decisions/log.md#a-log-has-an-identity). Their order makes each record count exactly once.
 */
export async function handleBatch<T>(
  context: BatchContext<T>,
  chunk: Chunk,
  progress: Progress,
  take: Take<Decoded<T>>,
): Promise<void> {
  const { broker, consumer, crash } = context
  const retried = <R>(step: string, work: () => Promise<R>) => retryForever(attemptsOf(context, chunk, step), work)
  const declareIntent = async () => {
    // Read before the commit: the process may sleep between its answer and the next line.
    const before = clocks()
    await chunk.commit(take.from, intentNote(progress))
    declared = before
  }
  let declared = clocks()
  const fence = async () => {
    if (clocks().some((now, n) => Math.abs(now - declared[n]!) > fence_fresh_ms)) await declareIntent()
  }

  // 1. The records are here and decoded, in memory only. A crash now: they are read again, perhaps as other batches.
  await crash(1)

  // 2. The intent is durable: from now on exactly `from..to` is one batch, whoever handles it. A crash now: the next
  //    owner reads the same range again. A declared intent is committed again: it fails if the partition was lost.
  await retried('intent', declareIntent)
  await crash(2)

  // 2b. Tombstones and the stamp are pinned, before any effect. A crash during this step: the next owner pins others.
  //     A crash after it: they are part of the batch
  //     (docs/decisions/erasure.md#batches-pin-the-tombstones-that-they-know, docs/raw.md#time-of-storing).
  const pinned = await retried('tombstones', () => pinnedOf(context, chunk, progress, take, declareIntent))

  // 3. The consumer does its work. A crash during or after it: the next owner calls `handle` with the same records, the
  //    same token and state, and the next `attempt`. `handle` then has to find out which of its effects are there.
  let is_first = true
  const tally = await retried('handle', async () => {
    // An effect of an earlier call may land after the effects of this call: the number of the call distinguishes them.
    if (!is_first) {
      progress.intent!.begun += 1
      await declareIntent()
    }
    is_first = false
    return callHandle(context, chunk, progress, take, { fence, ...pinned })
  })
  await crash(3)

  // 4. Dead letters are durable. A crash now: they are published again, so a dead letter may be there twice.
  const letters = [...tally.dead].map(([record, reason]) => deadLetter(consumer.topic, consumer.name, record, reason))
  if (letters.length > 0) await retried('dead letters', () => broker.publish(letters))
  await crash(4)

  // 5. The batch is over. A crash now: reading goes on after it.
  const done = { at_ms: newestOf(take.records), state: tally.state }
  await retried('commit', () => chunk.commit(take.to + 1, doneNote(progress, done)))
  count(context, take, tally)
  await crash(5)
  // A crash before it: `endFinished` does it. No pause for tries: the next batch of the partition says the same.
  await endStamp(context, chunk, progress)
  // Last, since a batch that was broken off earlier must come again as the same batch.
  finish(progress, take, done)
}

/** How long a batch may block the event loop: look-ups of other partitions, heartbeats and health wait meanwhile. */
const slice_ms = 10

/**
 * Decodes records in their order until the consumer's bounds are reached, at least one; without bounds all of them.
 * Nothing leaves the process.
 */
export async function decodeBatch<T>(
  { consumer, logger }: BatchContext<T>,
  records: readonly LogRecord[],
  source: string,
  bounds: BatchBounds<T> | null = consumer.bounds ?? null,
): Promise<Decoded<T>[]> {
  const decoded: Decoded<T>[] = []
  let rows = 0
  let bytes = 0
  const isPassed = ({ headers }: LogRecord) => consumer.needsValue?.(headers) === false
  let until = performance.now() + slice_ms
  for (const record of records) {
    if (performance.now() > until) {
      await nextTurn()
      until = performance.now() + slice_ms
    }
    const one = isPassed(record) ? { record, passed: true } : decodeRecord(consumer, record, source, logger)
    if (bounds !== null && 'value' in one) {
      const made = bounds.measure(one.value as T)
      rows += made.rows
      bytes += made.bytes
      if (decoded.length > 0 && (rows > bounds.rows_max || bytes > bounds.bytes_max)) break
    }
    decoded.push(one)
  }
  return decoded
}

function decodeRecord<T>(
  consumer: ConsumerDefinition<T>,
  record: LogRecord,
  source: string,
  logger: Logger,
): Decoded<T> {
  try {
    return { record, value: consumer.decode(record, source) }
  } catch (err) {
    const { partition, offset } = record
    logger.error({ err, partition, offset }, 'record cannot be decoded, put into the dead-letter topic')
    return { record }
  }
}

async function callHandle<T>(
  { consumer, logger }: BatchContext<T>,
  chunk: Chunk,
  progress: Progress,
  { from, to, records }: Take<Decoded<T>>,
  given: Pick<Batch<T>, 'fence' | keyof Pinned>,
): Promise<Tally> {
  const { topic, partition, signal } = chunk
  const { log, state, intent } = progress
  const decoded = records.filter((one): one is DecodedRecord<T> => 'value' in one)
  const locked = findLocked(consumer, decoded, given.tombstones)
  const good = locked.size === 0 ? decoded : decoded.filter(({ record }) => !locked.has(record))
  if (locked.size > 0) logger.error({ partition, ...lockedFields(locked) }, locked_message)
  const undecodable = records.filter((one) => !('value' in one) && one.passed !== true)
  const tally: Tally = {
    dead: new Map([
      ...undecodable.map(({ record }) => [record, 'undecodable'] as const),
      ...[...locked.keys()].map((record) => [record, salt_unreadable] as const),
    ]),
    dropped: new Map(),
    written: 0,
    state,
  }
  const batch: Batch<T> = {
    ...{ topic, partition, from, to, signal, state, ...given },
    attempt: intent!.begun,
    source: sourceOf(topic, progress),
    token: `${consumer.name}/${topic}/${partition}/${log}/${from}-${to}`,
    records: good,
    keep: (kept) => {
      tally.state = kept
    },
    dead: (record, reason) => tally.dead.set(record, reason),
    dropped: (reason, count) => tally.dropped.set(reason, (tally.dropped.get(reason) ?? 0) + count),
    written: (count) => {
      tally.written += count
    },
  }
  if (good.length > 0) await consumer.handle(batch)
  return tally
}

/** Pins tombstones and stamp. A batch without any value pins nothing, because it has no effect. */
async function pinnedOf<T>(
  { consumer }: BatchContext<T>,
  { partition }: Chunk,
  progress: Progress,
  { records }: Take<Decoded<T>>,
  declareIntent: () => Promise<void>,
): Promise<Pinned> {
  if (!records.some((one) => 'value' in one)) return { tombstones: noTombstones, stored_at_ms: 0 }
  return pinBatch(consumer, progress, partition, declareIntent)
}

async function endStamp<T>(
  { consumer: { name, topic, stamps }, logger }: BatchContext<T>,
  { partition }: Chunk,
  { intent }: Progress,
): Promise<void> {
  if (stamps === undefined || intent === null || intent.stored_at_ms === null) return
  try {
    await stamps.end({ consumer: name, topic: topic.name, partition }, intent.stored_at_ms)
  } catch (err) {
    logger.warn(
      { err, partition },
      'the stamp of a batch could not be ended: what is complete lags behind for a moment',
    )
  }
}

function attemptsOf<T>({ consumer, logger, metrics, pauses, slots }: BatchContext<T>, chunk: Chunk, step: string) {
  return {
    step,
    signal: chunk.signal,
    logger: logger.child({ partition: chunk.partition }),
    pauses,
    slots,
    onFailure: () => metrics.failures.inc({ consumer: consumer.name, step }),
  }
}

function count<T>(
  { consumer: { name: consumer }, metrics }: BatchContext<T>,
  take: Take<Decoded<T>>,
  tally: Tally,
): void {
  metrics.received.inc({ consumer }, take.records.length)
  metrics.written.inc({ consumer }, tally.written)
  if (take.reprocessed) metrics.reprocessed.inc({ consumer }, take.records.length)
  for (const [reason, dropped] of tally.dropped) metrics.dropped.inc({ consumer, reason }, dropped)
  for (const reason of tally.dead.values()) metrics.dead.inc({ consumer, reason })
}
