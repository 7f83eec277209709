import type { TombstoneStore, Tombstones } from '@tributary/domain/erasure/tombstones'
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
  if (intent.tombstones === null) {
    const number = await store.newest()
    progress.intent = { ...intent, tombstones: number }
    try {
      await declareIntent()
    } catch (err) {
      // It may be durable or not: nothing was done with it, and a later number is as good.
      progress.intent = { ...intent, tombstones: null }
      throw err
    }
  }
  // A batch that an older version began knows none.
  return store.upTo(progress.intent!.tombstones ?? 0)
}
