import type { LogRecord } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { findEventKeys } from '@tributary/clickhouse/event-keys'
import type { Envelope } from '@tributary/contracts/envelope'
import { topics } from '@tributary/contracts/topics'
import { toEventRow } from '@tributary/domain/event-row'
import { type Batch, type ConsumerDefinition, defineConsumer } from '@tributary/service-kit/consumer'
import type { Logger } from 'pino'
import { decodeEnvelope } from './decode-envelope.ts'
import { dropDuplicates, keysToAsk, type RecordRow } from './drop-duplicates.ts'
import { insertRows } from './insert-rows.ts'

export interface EventWriterDeps {
  clickhouse: Clickhouse
  logger?: Logger
}

/**
 * Writes accepted events to `events_raw_v1`, each exactly once. What a batch writes depends on its records and on what
 * earlier batches wrote, and on nothing else: a second call finds the same rows and sends them under the same token.
 */
export const eventWriter = ({ clickhouse, logger }: EventWriterDeps): ConsumerDefinition<Envelope> =>
  defineConsumer({
    name: 'event-writer',
    topic: topics.eventsAccepted,
    decode: decodeEnvelope,
    async handle(batch) {
      const rows = toRows(batch, logger)
      const known = await findEventKeys(clickhouse, keysToAsk(rows))
      const counted = dropDuplicates(rows, known, batch)
      batch.dropped('duplicate', rows.length - counted.length)
      const refused = await insertRows(clickhouse, counted, batch.token)
      for (const { record, err } of refused) {
        logger?.error({ ...where(record), err }, 'row refused by ClickHouse, record put into the dead-letter topic')
        batch.dead(record, 'row_refused')
      }
      batch.written(counted.length - refused.length)
    },
  })

/** A record is written as a whole or not at all: one bad event sends its whole envelope to the dead letters. */
function toRows(batch: Batch<Envelope>, logger: Logger | undefined): RecordRow[] {
  const rows: RecordRow[] = []
  for (const { record, value: envelope } of batch.records) {
    const begun = rows.length
    try {
      for (const event of envelope.events) rows.push({ record, row: toEventRow(envelope, event, record) })
    } catch (err) {
      rows.length = begun
      logger?.error({ ...where(record), err }, 'event without a row, record put into the dead-letter topic')
      batch.dead(record, 'unwritable_event')
    }
  }
  return rows
}

const where = ({ topic, partition, offset }: LogRecord) => ({ topic, partition, offset })
