import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { createFailedInserts } from '@tributary/clickhouse/failed-inserts'
import { consumers } from '@tributary/contracts/consumers'
import { countMoney, transactionsToLookUp } from '@tributary/domain/money/count-money'
import type { ErasedRecords } from '@tributary/erasure/erased-records'
import { type Batch, type ConsumerDefinition, defineConsumer } from '@tributary/service-kit/consumer/define-consumer'
import type { StampStore } from '@tributary/service-kit/consumer/stamps'
import { dropDuplicates, keysToLookUp } from '@tributary/tables/events/drop-duplicates'
import { findEventKeys } from '@tributary/tables/events/event-keys'
import { cancelBeatenClaims } from '@tributary/tables/money/cancel-beaten-claims'
import { findTransactionClaims } from '@tributary/tables/money/transaction-keys'
import { Semaphore } from 'async-mutex'
import type { Logger } from 'pino'
import { Histogram, type Registry } from 'prom-client'
import { dropErased } from './erased/drop-erased.ts'
import { forgetErasedKeys } from './erased/forget-erased-keys.ts'
import { cancelledTotal } from './money/cancelled-total.ts'
import { completeOlderLog } from './write/complete-older-log.ts'
import { block_bytes_max, block_rows_max } from './write/cut-blocks.ts'
import { decodeLines } from './write/decode-lines.ts'
import type { EventLine } from './write/event-line.ts'
import { misfitOfCounts } from './write/misfit-of-counts.ts'
import { refuseWhileInserting, stateOf, writeBatch } from './write/write-batch.ts'

/**
 * Inserts of a process at once. ClickHouse reads and writes a block in one thread, about as fast as a writer makes blocks, so two inserts
 * keep it busy. With inserts of all partitions at once, ClickHouse and the writer would take turns waiting for each other.
 */
const inserts_at_once = 2

/**
 * An insert costs 130 ms of CPU, whether it has one row or a thousand. Fewer inserts leave more of the engine to others
 * (docs/decisions/writing.md#the-event-writer-waits-for-a-fuller-batch).
 */
const linger_ms = 1000

export interface EventWriterDeps {
  clickhouse: Clickhouse
  /** Tombstones; without them nothing counts as erased. */
  erased?: ErasedRecords
  /** Times of storing; without them they are 0. */
  stamps?: StampStore
  registry?: Registry
  logger?: Logger
}

/**
 * Writes accepted events to `events_raw_v1`, each exactly once. The rows of a batch depend only on its records and on the rows of earlier
 * batches, so a repeated call makes the same rows.
 */
export function eventWriter({
  clickhouse,
  erased,
  stamps,
  registry,
  logger,
}: EventWriterDeps): ConsumerDefinition<EventLine[]> {
  const seconds = registry && stepSeconds(registry)
  const cancelled = registry && cancelledTotal(registry)
  const inserts = new Semaphore(inserts_at_once)
  const failed = createFailedInserts()
  const begun = new Map<string, string>()

  /**
   * Prepares the first batch of a log: inserts of an older log of the partition have ended, and its half-done block is
   * completed.
   */
  async function endOlderLog(batch: Batch<EventLine[]>) {
    const [consumer] = batch.token.split('/')
    const prefix = `${consumer}/${batch.topic}/${batch.partition}/`
    if (begun.get(prefix) === batch.source) return
    await refuseWhileInserting(clickhouse, prefix)
    await completeOlderLog(clickhouse, batch, logger)
    // Another try of the batch finds it done.
    begun.set(prefix, batch.source)
  }

  return defineConsumer({
    ...consumers.eventWriter,
    ...(erased && { tombstones: erased }),
    ...(stamps && { stamps }),
    appOf: (lines) => lines[0]?.app_id ?? null,
    fetch: { wait_ms_max: linger_ms },
    bounds: { rows_max: block_rows_max, bytes_max: block_bytes_max, measure: measureLines },
    decode: decodeLines,
    async handle(batch) {
      const { rows, marks, objects, dropped } = dropErased(batch.records, batch.tombstones)
      batch.dropped('erased', dropped)
      // Durable before the batch is over: the next erasure removes the events from these objects too.
      for (const [app_id, audit_keys] of objects) await erased?.noteObjects(app_id, audit_keys)
      const range = { topic: batch.source, partition: batch.partition, from: batch.from, to: batch.to }
      if (batch.state === undefined) await endOlderLog(batch)
      // This comes before the look-up: a key that lands after it would be inserted once more.
      if (batch.attempt > 1) await refuseWhileInserting(clickhouse, `${batch.token}/`)
      const lookedUp = seconds?.startTimer({ step: 'look_up' })
      const known = await findEventKeys(clickhouse, keysToLookUp(rows))
      const living = await forgetErasedKeys(clickhouse, rows, known, marks, batch.tombstones)
      const counted = dropDuplicates(rows, living, batch.attempt > 1 ? range : null)
      batch.dropped('duplicate', rows.length - counted.length)
      const claims = await findTransactionClaims(clickhouse, transactionsToLookUp(counted))
      lookedUp?.()
      const money = countMoney(counted, claims, range)
      const inserted = seconds?.startTimer({ step: 'insert' })
      const refused = await inserts.runExclusive(() =>
        writeBatch({ clickhouse, failed, logger }, batch, money.rows, known),
      )
      inserted?.()
      failed.forget(batch.token)
      // This is done before the batch is over, so the sums are right for everybody who waits for it. The sweep handles
      // what another partition writes at this moment.
      if (money.contested.length > 0) {
        const taken_back = await cancelBeatenClaims(clickhouse, money.contested, { again: batch.attempt > 1 })
        cancelled?.inc(taken_back)
      }
      for (const { record, err } of refused) {
        const { topic, partition, offset } = record
        logger?.error(
          { err, topic, partition, offset },
          'row refused by ClickHouse, record put into the dead-letter topic',
        )
        batch.dead(record, 'row_refused')
      }
      const written = counted.length - refused.reduce((sum, one) => sum + one.rows, 0)
      batch.written(written)
      batch.keep({ rows: stateOf(batch.state).rows + written })
    },
    findMisfit: (at) => misfitOfCounts(clickhouse, at),
  })
}

const measureLines = (lines: EventLine[]) => ({
  rows: lines.length,
  bytes: lines.length === 0 ? 0 : lines.at(-1)!.to - lines[0]!.from,
})

const stepSeconds = (registry: Registry) =>
  new Histogram({
    name: 'tributary_event_writer_step_seconds',
    help: 'What a batch waited for ClickHouse.',
    labelNames: ['step'],
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
    registers: [registry],
  })
