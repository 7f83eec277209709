import type { LogRecord } from '@tributary/broker/broker'
import { noTombstones, type Tombstones } from '@tributary/domain/erasure/tombstones'
import type { ConsumerDefinition, DecodedRecord } from './define-consumer.ts'
import type { Progress } from './intent.ts'

/** Tombstones and stamp of a batch; every try gets the same. */
export interface Pinned {
  tombstones: Tombstones
  /** 0 for a consumer without stamps. */
  stored_at_ms: number
}

/**
 * Pins tombstones and the stamp of a declared batch. A new batch takes the newest number. It reads the number after it
 * was declared, and makes it durable before any effect. If an eraser wrote a tombstone before that read, the batch obeys
 * it. If an eraser writes one afterwards, it finds the open batch and waits for it. A batch that has a number keeps it,
 * and so it is with its stamp: only the owner of a partition has declared a batch, so an earlier owner gets none.
 */
export async function pinBatch<T>(
  { name, topic, tombstones: store, stamps }: Pick<ConsumerDefinition<T>, 'name' | 'topic' | 'tombstones' | 'stamps'>,
  progress: Progress,
  partition: number,
  declareIntent: () => Promise<void>,
): Promise<Pinned> {
  const before = progress.intent!
  const at = { consumer: name, topic: topic.name, partition }
  const tombstones = before.tombstones ?? (await store?.newest()) ?? null
  const stored_at_ms = before.stored_at_ms ?? (await stamps?.pin(at, progress.stored_at_ms)) ?? null
  if (tombstones !== before.tombstones || stored_at_ms !== before.stored_at_ms) {
    progress.intent = { ...before, tombstones, stored_at_ms }
    try {
      await declareIntent()
    } catch (err) {
      // What was pinned may be durable or not. Nothing was done with it, so later ones are as good.
      progress.intent = before
      throw err
    }
  }
  return {
    tombstones: store === undefined ? noTombstones : await store.upTo(tombstones!),
    stored_at_ms: stored_at_ms ?? 0,
  }
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
