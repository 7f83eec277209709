import type { LogStore } from './log-store.ts'
import type { PartitionLog } from './partition-log.ts'

/** Blocks deleted in one commit: small, so that publishers never wait long for it. */
const blocks_per_commit_max = 64

/**
 * Deletes blocks whose records are all older than `older_than_ms` (Unix epoch ms) and before `floor`, the offset that
 * the slowest group still needs. Returns how many records went.
 */
export async function deleteOld(
  store: LogStore,
  log: PartitionLog,
  older_than_ms: number,
  floor: () => number,
): Promise<number> {
  const before = log.earliest()
  while (await deleteSome(store, log, older_than_ms, floor)) {}
  return log.earliest() - before
}

/** False when nothing more is to be deleted. */
async function deleteSome(
  store: LogStore,
  log: PartitionLog,
  older_than_ms: number,
  floor: () => number,
): Promise<boolean> {
  const { topic, partition } = log
  const old = log.oldBlocks(older_than_ms, floor(), blocks_per_commit_max)
  if (old.length === 0) return false
  const last = old.at(-1)!
  await store.queue.submit({
    stage(staging) {
      const end = log.end()
      for (const { offset } of old) staging.change(() => store.blocks.remove([topic, partition, offset]))
      // An emptied partition must not begin at 0 again.
      staging.change(() => store.ends.put([topic, partition], end))
    },
    applied: () => log.trim(last.end),
  })
  return true
}
