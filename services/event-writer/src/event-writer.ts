import type { LogRecord } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { findEventKeys } from '@tributary/clickhouse/event-keys'
import type { Envelope } from '@tributary/contracts/envelope'
import { topics } from '@tributary/contracts/topics'
import { toEventRow } from '@tributary/domain/event-row'
import { type Batch, type ConsumerDefinition, defineConsumer } from '@tributary/service-kit/consumer'
import type { Logger } from 'pino'
import { Histogram, type Registry } from 'prom-client'
import { decodeEnvelope } from './decode-envelope.ts'
import { dropDuplicates, type KeyAsk, keysToAsk } from './drop-duplicates.ts'
import { eventLine } from './event-line.ts'
import { insertRows, type RowLine } from './insert-rows.ts'

export interface EventWriterDeps {
  clickhouse: Clickhouse
  registry?: Registry
  logger?: Logger
}

/**
 * Writes accepted events to `events_raw_v1`, each exactly once. What a batch writes depends on its records and on what
 * earlier batches wrote, and on nothing else: a second call finds the same rows and sends them under the same token.
 */
export function eventWriter({ clickhouse, registry, logger }: EventWriterDeps): ConsumerDefinition<Envelope> {
  const seconds = registry && stepSeconds(registry)
  return defineConsumer({
    name: 'event-writer',
    topic: topics.eventsAccepted,
    decode: decodeEnvelope,
    async handle(batch) {
      const rows = toRows(batch, logger)
      const lookedUp = seconds?.startTimer({ step: 'look_up' })
      const known = await findEventKeys(clickhouse, keysToAsk(rows))
      lookedUp?.()
      const counted = dropDuplicates(rows, known, batch)
      batch.dropped('duplicate', rows.length - counted.length)
      const inserted = seconds?.startTimer({ step: 'insert' })
      const refused = await insertRows(clickhouse, counted, batch.token)
      inserted?.()
      for (const { record, err } of refused) {
        logger?.error({ ...where(record), err }, 'row refused by ClickHouse, record put into the dead-letter topic')
        batch.dead(record, 'row_refused')
      }
      batch.written(counted.length - refused.length)
    },
  })
}

const stepSeconds = (registry: Registry) =>
  new Histogram({
    name: 'tributary_event_writer_step_seconds',
    help: 'What a batch waited for ClickHouse.',
    labelNames: ['step'],
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
    registers: [registry],
  })

interface PreparedRow extends KeyAsk, RowLine {}

/**
 * A record is written as a whole or not at all: one bad event sends its whole envelope to the dead letters. Rows become
 * text at once, though some will be dropped: what stays in memory during the look-up is a third of the row objects.
 */
function toRows(batch: Batch<Envelope>, logger: Logger | undefined): PreparedRow[] {
  const rows: PreparedRow[] = []
  for (const { record, value: envelope } of batch.records) {
    const begun = rows.length
    try {
      for (const event of envelope.events) {
        const row = toEventRow(envelope, event, record)
        const { app_id, key_day, event_key } = row
        rows.push({ record, app_id, key_day, event_key, line: eventLine(row) })
      }
    } catch (err) {
      rows.length = begun
      logger?.error({ ...where(record), err }, 'event without a row, record put into the dead-letter topic')
      batch.dead(record, 'unwritable_event')
    }
  }
  return rows
}

const where = ({ topic, partition, offset }: LogRecord) => ({ topic, partition, offset })
