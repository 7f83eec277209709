import type { LogRecord } from '@tributary/broker/broker'
import type { TombstoneStore, Tombstones } from '@tributary/domain/erasure/tombstones'
import type { ConsumerDefinition, DecodedRecord } from './define-consumer.ts'
import type { Progress } from './intent.ts'

/**
 * The tombstones of a declared batch. A new batch takes the newest number, read after it was declared and durable before it
 * has any effect: an eraser that wrote a later tombstone before that read is obeyed, and one that writes it afterwards finds
 * the open batch and waits for it. A batch that has a number keeps it.
 */
export async function pinTombstones(
  store: TombstoneStore,
  progress: Progress,
  declareIntent: () => Promise<void>,
): Promise<Tombstones> {
  const intent = progress.intent!
  if (intent.tombstones !== null) return store.upTo(intent.tombstones)
  const number = await store.newest()
  progress.intent = { ...intent, tombstones: number }
  try {
    await declareIntent()
  } catch (err) {
    // It may be durable or not: nothing was done with it, and a later number is as good.
    progress.intent = { ...intent, tombstones: null }
    throw err
  }
  return store.upTo(number)
}

/**
 * Records of locked apps (`Tombstones.isLocked`), with these apps. They must neither slip past an erasure nor stop other apps:
 * the caller puts them into the dead-letter topic (docs/decisions/erasure.md#unreadable-salts-make-dead-letters).
 */
export function findLocked<T>(
  { appOf }: ConsumerDefinition<T>,
  decoded: readonly DecodedRecord<T>[],
  { isLocked }: Tombstones,
): Map<LogRecord, string> {
  const locked = new Map<LogRecord, string>()
  if (appOf === undefined) return locked
  for (const { record, value } of decoded) {
    const app_id = appOf(value)
    if (app_id !== null && isLocked(app_id)) locked.set(record, app_id)
  }
  return locked
}

export const locked_message =
  'records are put into the dead-letter topic, because the salts of their apps cannot be decrypted: nobody can tell what was erased'

/** Apps that a log line names. */
const named_apps_max = 5

/** Fields of the log line. */
export const lockedFields = (locked: ReadonlyMap<LogRecord, string>) => ({
  records: locked.size,
  apps: [...new Set(locked.values())].slice(0, named_apps_max),
})
