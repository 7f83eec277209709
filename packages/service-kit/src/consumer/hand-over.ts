import { setTimeout as pause } from 'node:timers/promises'
import type { Broker, Chunk, ConsumeOptions, Consumption, LogRecord, OutgoingRecord } from '@tributary/broker/broker'
import { installPartition } from '@tributary/broker/partition'
import type { ConsumerGroup } from '@tributary/contracts/consumers'
import type { Logger } from 'pino'
import { deadLetter, isTakenByLog } from './dead-letter.ts'
import { openIntent } from './intent.ts'

/**
 * Hands the partitions of a topic over to another one, with more of them, while both are written and read
 * (docs/decisions/log.md#a-topic-is-handed-over-at-a-marker-record). A mark in each partition decides. Records before
 * it are handled from the old topic, and records after it are moved to the new topic. The new topic is begun once the
 * group of the old one is at every mark. So all records of an install have one owner at a time, whichever topic they
 * are published to.
 */
const mark_header = 'handed_over_to'
const poll_ms = 500

/** Marks each partition of `from`: records after the marks belong to `to`. May be repeated; the first mark counts. */
export async function publishMarks(
  broker: Pick<Broker, 'partitionCount' | 'publish'>,
  from: string,
  to: string,
): Promise<number> {
  await broker.partitionCount(to)
  const partitions = await broker.partitionCount(from)
  const mark = { topic: from, key: null, value: Buffer.alloc(0), headers: { [mark_header]: to } }
  await broker.publish(Array.from({ length: partitions }, (_, partition) => ({ ...mark, partition })))
  return partitions
}

/**
 * The log for a consumer that takes part in hand-overs (`after` is present); for any other consumer the log as it is.
 */
export function withHandOver(broker: Broker, consumer: ConsumerGroup, logger: Logger): Broker {
  const { topic, after } = consumer
  if (after === undefined) return broker
  return {
    ...broker,
    async consume(options) {
      if (options.topic !== topic.name) return broker.consume(options)
      // Records are moved whole.
      const moving = { ...options, needsValue: undefined, onChunk: stopAtMark(broker, consumer, options, logger) }
      return after === null ? broker.consume(moving) : consumeAfter(broker, after, moving, logger)
    },
  }
}

/** The consumer handles what stands before the mark. The rest is published to the new topic, then committed with a label. */
function stopAtMark(
  broker: Broker,
  consumer: ConsumerGroup,
  { onChunk }: ConsumeOptions,
  logger: Logger,
): ConsumeOptions['onChunk'] {
  return async (chunk) => {
    const { topic, partition, records } = chunk
    const passed = targetOf((await chunk.committed())?.metadata)
    const mark = passed === null ? records.find(isMark) : undefined
    const to = passed ?? mark?.headers[mark_header]
    if (to === undefined) return onChunk(chunk)
    if (mark !== undefined) await handleBefore(chunk, mark, onChunk)
    const behind = records.filter((record) => record.offset > (mark?.offset ?? -1) && !isMark(record))
    // A crash from here on: they are moved again, and dropped as duplicates.
    const partitions = await broker.partitionCount(to)
    await broker.publish(
      behind.map((record) =>
        isTakenByLog(record)
          ? moved(record, to, partitions)
          : deadLetter(consumer.topic, consumer.name, record, 'too_large'),
      ),
    )
    // After the first of these commits no consumer handles a record of this partition itself.
    await chunk.commit(records.at(-1)!.offset + 1, JSON.stringify({ [mark_header]: to }))
    logger.info({ topic, partition, to, records: behind.length, mark: mark?.offset }, 'records moved to another topic')
  }
}

/** All before the mark is handled and committed when this resolves. */
async function handleBefore(chunk: Chunk, mark: LogRecord, onChunk: ConsumeOptions['onChunk']): Promise<void> {
  const records = chunk.records.filter(({ offset }) => offset < mark.offset)
  const last = records.at(-1)
  if (last !== undefined) await onChunk({ ...chunk, records, end_offset: mark.offset })
  const committed = await chunk.committed()
  const is_done = openIntent(committed) === null && (committed?.offset ?? 0) > (last?.offset ?? -1)
  if (!is_done) throw new Error(`${chunk.topic}/${chunk.partition} is not handled up to its mark at ${mark.offset}`)
}

/** Whether a record is a mark of `publishMarks`, which consumers pass over. */
export const isMark = (record: Pick<LogRecord, 'headers' | 'value'>): boolean =>
  record.headers[mark_header] !== undefined && record.value.length === 0

/** Whether the group has passed the mark of a partition: it then commits this label. */
export const isHandedOver = (metadata: string | null): boolean => targetOf(metadata) !== null

/** The topic to which the records of a partition belong, by the commit of its group; null before the mark. */
function targetOf(metadata: string | null | undefined): string | null {
  try {
    const to: unknown = JSON.parse(metadata ?? '')?.[mark_header]
    return typeof to === 'string' ? to : null
  } catch {
    return null
  }
}

/** The record goes to the partition of its install. The new consumer refuses a record without an install. */
function moved({ partition, key, value, headers }: LogRecord, topic: string, partitions: number): OutgoingRecord {
  return { topic, partition: partitionOf(value, partitions) ?? partition % partitions, key, value, headers }
}

function partitionOf(value: Buffer, partitions: number): number | null {
  try {
    const { app_id, install_uuid } = JSON.parse(value.toString())
    return typeof app_id === 'string' && typeof install_uuid === 'string'
      ? installPartition(app_id, install_uuid, partitions)
      : null
  } catch {
    return null
  }
}

/** Begins to consume once the group on the topic before is at the mark of every partition. */
function consumeAfter(broker: Broker, after: ConsumerGroup, options: ConsumeOptions, logger: Logger): Consumption {
  const closed = new AbortController()
  async function begin(): Promise<Consumption | null> {
    for (let tries = 0; !closed.signal.aborted; tries += 1) {
      try {
        if (await isAtMarks(broker, after, options.topic)) return await broker.consume(options)
        if (tries === 0) logger.warn({ before: after.topic.name }, 'waiting until the topic before is at its marks')
      } catch (err) {
        logger.warn({ err, before: after.topic.name }, 'the marks of the topic before could not be read')
      }
      await pause(poll_ms, undefined, { signal: closed.signal }).catch(() => {})
    }
    return null
  }
  const begun = begin()
  return {
    async close() {
      closed.abort()
      await (await begun)?.close()
    },
  }
}

async function isAtMarks(broker: Broker, { name, topic }: ConsumerGroup, to: string): Promise<boolean> {
  const offsets = await broker.groupOffsets(name, topic.name)
  return offsets.length > 0 && offsets.every(({ metadata }) => targetOf(metadata) === to)
}
