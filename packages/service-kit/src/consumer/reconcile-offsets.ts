import { setTimeout as pause } from 'node:timers/promises'
import type { PartitionOffsets } from '@tributary/broker/broker'
import type { BatchContext } from './batch.ts'
import { isHandedOver } from './hand-over.ts'
import { isOtherLog, log_replaced, sourceOf, startProgress } from './intent.ts'

/** Longer than the session timeout of a member and a rebalance together. */
const session_over_ms = 30_000
const reread_reason = 'reread'

/** Offsets by partition that were put back and logged at the start. */
export type PutBack = Map<number, number>

/**
 * Checks all partitions before a consumer reads. A partition without unread records shows no chunk, so nobody would
 * notice a misfit there. A partition is put back to its earliest record if its log was made anew, if its tables lack
 * committed rows, or with `reread`. Rows that are already written are found by their keys. Durable when this resolves.
 */
export async function reconcileOffsets<T>(context: BatchContext<T>, reread: boolean): Promise<PutBack> {
  const { broker, consumer, logger, metrics, misfits } = context
  const { name, topic } = consumer
  const found = (await broker.groupOffsets(name, topic.name)).filter(
    ({ committed, metadata }) => committed !== null && !isHandedOver(metadata),
  )
  const reasons = await Promise.all(found.map((offsets) => (reread ? reread_reason : findReason(context, offsets))))
  const moved = found.flatMap((offsets, n) => (reasons[n] === null ? [] : [{ ...offsets, reason: reasons[n]! }]))
  if (moved.length === 0) return new Map()
  if (moved.some(({ reason }) => reason !== log_replaced && reason !== reread_reason))
    await consumer.stamps?.startEpoch()
  // The notes of the offsets go with the move: a process that dies after it finds nothing any more.
  for (const { partition, reason, committed, earliest: offset, end } of moved) {
    // An empty partition has no record, so its second reading would never end.
    if (offset < end || reason !== reread_reason)
      misfits?.found({ consumer: name, topic: topic.name, partition, reason, committed, next: offset, end })
  }
  const earliest = moved.map(({ partition, earliest: offset }) => ({ partition, offset }))
  try {
    await moveIdleGroup(() => broker.moveGroup(name, topic.name, earliest), reread)
  } catch (err) {
    // Other members of the group are running. They check each partition when a record of it comes.
    if (reread) throw err
    logger.warn({ err, moved: earliest.length }, 'the offsets could not be put back while the group has members')
    return new Map()
  }
  for (const { partition, reason, committed, earliest: offset } of moved) {
    metrics.misfits.inc({ consumer: name, reason })
    // A second reading on request is no fault. Its cause, if there was one, has a line of its own.
    const level = reason === reread_reason ? 'warn' : 'error'
    logger[level]({ partition, reason, committed, earliest: offset }, 'the log is read again from its earliest record')
  }
  return new Map(earliest.map(({ partition, offset }) => [partition, offset]))
}

/** A killed process stays a member until its session is over: a requested second reading waits for that. */
async function moveIdleGroup(move: () => Promise<void>, patient: boolean): Promise<void> {
  for (const deadline = performance.now() + session_over_ms; ; await pause(1000)) {
    try {
      return await move()
    } catch (err) {
      if (!patient || performance.now() > deadline) throw err
    }
  }
}

/** Null also when the reason can't be found now: the next record starts another search. */
async function findReason<T>(
  { broker, consumer, logger }: BatchContext<T>,
  { partition, committed, metadata, end }: PartitionOffsets,
): Promise<string | null> {
  const topic = consumer.topic.name
  const progress = startProgress('', { offset: committed!, metadata: metadata ?? '' }, '')
  const { next, state, intent } = progress
  // From an offset beyond the end, reading begins at the earliest record by itself. An offset without a note was moved.
  if (!progress.noted || next > end) return null
  try {
    if (await isOtherLog(progress, end, (ms) => broker.firstOffsetAfter(topic, partition, ms))) return log_replaced
    const at = { source: sourceOf(topic, progress), partition, state, open_to: intent?.to ?? null }
    const misfit = await consumer.findMisfit?.(at)
    return misfit?.reread === true ? misfit.reason : null
  } catch (err) {
    logger.warn({ err, partition }, 'log and tables could not be compared')
    return null
  }
}
