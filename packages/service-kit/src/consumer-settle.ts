import type { PartitionOffsets } from '@tributary/broker/broker'
import { type BatchContext, sourceOf } from './consumer-batch.ts'
import { isOtherLog, startProgress } from './consumer-intent.ts'
import { isHandedOver } from './hand-over.ts'

/**
 * Before a consumer reads: partitions of which nothing is unread show no chunk, so what does not fit there would never
 * be noticed. A partition whose log was made anew, or whose tables lack what was committed, is put back to its earliest
 * record, and so is each one with `reread`; what is written already is found there. Durable when this resolves.
 */
export async function settleOffsets<T>(context: BatchContext<T>, reread: boolean): Promise<void> {
  const { broker, consumer, logger, metrics } = context
  const moved: { partition: number; offset: number }[] = []
  for (const offsets of await broker.groupOffsets(consumer.name, consumer.topic.name)) {
    const { partition, committed, metadata, earliest } = offsets
    if (committed === null || isHandedOver(metadata)) continue
    const reason = reread ? 'reread' : await findReason(context, offsets)
    if (reason === null) continue
    moved.push({ partition, offset: earliest })
    metrics.misfits.inc({ consumer: consumer.name, reason })
    logger.error({ partition, reason, committed, earliest }, 'the log is read again from its earliest record')
  }
  if (moved.length > 0) await broker.moveGroup(consumer.name, consumer.topic.name, moved)
}

/** Null also when it can't be told now: it is looked at again when a record comes. */
async function findReason<T>(
  { broker, consumer, logger }: BatchContext<T>,
  { partition, committed, metadata, end }: PartitionOffsets,
): Promise<string | null> {
  const topic = consumer.topic.name
  const progress = startProgress('', { offset: committed!, metadata: metadata ?? '' }, '')
  const { next, state, intent } = progress
  // Beyond the end, reading begins at the earliest record by itself; without a note the offset was moved.
  if (!progress.noted || next > end) return null
  try {
    if (await isOtherLog(progress, end, (ms) => broker.firstOffsetAfter(topic, partition, ms))) return 'log_replaced'
    const at = { source: sourceOf(topic, progress), partition, state, open: intent !== null }
    const misfit = await consumer.findMisfit?.(at)
    return misfit?.reread === true ? misfit.reason : null
  } catch (err) {
    logger.warn({ err, partition }, 'log and tables could not be compared')
    return null
  }
}
