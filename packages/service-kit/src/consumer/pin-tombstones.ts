import type { LogRecord } from '@tributary/broker/broker'
import type { TombstoneStore, Tombstones } from '@tributary/domain/erasure/tombstones'
import type { ConsumerDefinition, DecodedRecord } from './define-consumer.ts'
import type { Progress } from './intent.ts'

/**
 * The tombstones of a declared batch. A new batch takes the newest number. It reads the number after it was declared,
 * and makes it durable before any effect. If an eraser wrote a tombstone before that read, the batch obeys it. If an
 * eraser writes one afterwards, it finds the open batch and waits for it. A batch that has a number keeps it.
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
    // The number may be durable or not. Nothing was done with it, so a later number is as good.
    progress.intent = { ...intent, tombstones: null }
    throw err
  }
  return store.upTo(number)
}

/**
 * Records of locked apps (`Tombstones.isLocked`), with these apps. They must not slip past an erasure, and they must
 * not stop other apps. So the caller puts them into the dead-letter topic
 * (docs/decisions/erasure.md#unreadable-salts-make-dead-letters).
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
