import { randomBytes } from 'node:crypto'
import type { Chunk } from '@tributary/broker/broker'
import type { BatchContext } from './batch.ts'
import type { Misfit } from './define-consumer.ts'
import { doneNote, isOtherLog, log_replaced, type Progress, sourceOf, startLog, startProgress } from './intent.ts'
import type { PutBack } from './reconcile-offsets.ts'

/** Somebody put the group elsewhere, as `tributary rebuild` does. */
const offset_moved = 'offset_moved'

/**
 * A name that sorts by the time at which it was made, so the newer of two logs sorts last. It sorts after the log
 * before (`after`) even if a clock named that one too late.
 */
function mintLog(after = ''): string {
  const named_ms = Number.parseInt(after.split('-', 1)[0]!, 36)
  const made_ms = Number.isSafeInteger(named_ms) ? Math.max(Date.now(), named_ms + 1) : Date.now()
  return `${made_ms.toString(36)}-${randomBytes(6).toString('hex')}`
}

export interface TakenOverPartition {
  progress: Progress
  /** The current chunk must be rejected, because the log is read again from its earliest record. */
  rewound: boolean
}

/**
 * Checks a partition that this process has just taken over: the commits of the group, the log and the rows of the
 * consumer must fit together. If they do not, the log gets a new identity. New records are then not mistaken for the
 * work of an earlier batch, and written rows are found by their keys.
 */
export async function takeOverPartition<T>(
  context: BatchContext<T>,
  chunk: Chunk,
  putBack: PutBack,
): Promise<TakenOverPartition> {
  const committed = await chunk.committed()
  const progress = startProgress(chunk.generation, committed, mintLog())
  if (committed === null) return { progress, rewound: false }
  const isReported = putBack.get(chunk.partition) === committed.offset
  putBack.delete(chunk.partition)
  if (!progress.noted && isReported) return { progress, rewound: false }
  const misfit = await misfitOf(context, chunk, progress)
  if (misfit === null) return { progress, rewound: false }
  const isBeyond = committed.offset > chunk.end_offset
  goOnAsNewLog(context, progress, chunk, misfit.reason, isBeyond ? chunk.records[0]!.offset : committed.offset)
  // Lost rows are written again, with a later time of storing: who copies rows by that time would have them twice.
  const isStoredAgain = misfit.reread ? misfit.reason !== log_replaced : misfit.reason === offset_moved
  if (isStoredAgain) await context.consumer.stamps?.startEpoch()
  if (!misfit.reread) return { progress, rewound: false }
  const earliest = await earliestOf(context, chunk)
  // The rewind comes first: until the commit is there, the next owner of the partition finds the same misfit.
  await chunk.rewind(earliest)
  await chunk.commit(earliest, doneNote(progress, { at_ms: 0, state: undefined }))
  progress.next = -1
  return { progress, rewound: true }
}

/** Goes on under a new identity of the log, from `next` on. */
export function goOnAsNewLog<T>(
  { consumer, logger, metrics, misfits }: BatchContext<T>,
  progress: Progress,
  { topic, partition, end_offset, records }: Chunk,
  reason: string,
  next: number,
): void {
  const { log, next: expected } = progress
  // First, since another try finds nothing where the progress has changed.
  misfits?.found({ consumer: consumer.name, topic, partition, reason, committed: expected, next, end: end_offset })
  startLog(progress, mintLog(log), next)
  metrics.misfits.inc({ consumer: consumer.name, reason })
  // Somebody moved the offsets on purpose, or another process put them back at its start and logged it.
  logger[reason === offset_moved ? 'warn' : 'error'](
    { partition, reason, expected, log, end_offset, fetched_from: records[0]?.offset, new_log: progress.log },
    'log, committed offset and tables do not fit together: goes on under a new identity of the log, counts nothing twice',
  )
}

/**
 * The log dropped records of a declared batch, so the rest does not show which of its rows are written. Under a new
 * identity the consumer completes the batch from the rows that it wrote. Gathered records are still in memory.
 */
export function leaveIntent<T>(context: BatchContext<T>, progress: Progress, chunk: Chunk): void {
  const { intent, gathered } = progress
  const next = gathered.length > 0 ? chunk.records.find(({ offset }) => offset >= progress.next)!.offset : intent!.from
  goOnAsNewLog(context, progress, chunk, 'records_lost', next)
  progress.gathered = gathered
}

async function misfitOf<T>(context: BatchContext<T>, chunk: Chunk, progress: Progress): Promise<Misfit | null> {
  const { broker, consumer } = context
  const { topic, partition, end_offset } = chunk
  const { next, state, intent } = progress
  // An offset without a note does not come from a consumer: somebody moved it.
  if (!progress.noted) return { reason: offset_moved, reread: false }
  // An offset beyond the end made reading begin at the earliest record by itself.
  if (next > end_offset) return { reason: 'log_ends_before', reread: false }
  const firstAfter = (ms: number) => broker.firstOffsetAfter(topic, partition, ms)
  if (await isOtherLog(progress, end_offset, firstAfter)) return { reason: log_replaced, reread: true }
  const open_to = intent?.to ?? null
  return (await consumer.findMisfit?.({ source: sourceOf(topic, progress), partition, state, open_to })) ?? null
}

async function earliestOf<T>({ broker, consumer }: BatchContext<T>, { topic, partition }: Chunk): Promise<number> {
  const offsets = await broker.groupOffsets(consumer.name, topic)
  return offsets.find((found) => found.partition === partition)?.earliest ?? 0
}
