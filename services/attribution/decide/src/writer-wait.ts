import { consumers } from '@tributary/contracts/consumers'
import type { Trouble } from '@tributary/service-kit/service/health'

/** A batch that waits longer for install-writer is named by `/health`. */
const trouble_after_ms = 10_000

/** Which partitions wait for install-writer, for `/health`. */
export interface WriterWait {
  waiting(partition_name: string, waited_ms: number): void
  over(partition_name: string): void
  troubles(): Trouble[]
}

/** Names install-writer in `/health` while batches have waited for it for too long. */
export function createWriterWait(): WriterWait {
  const waits = new Map<string, number>()
  return {
    waiting: (partition_name, waited_ms) => waits.set(partition_name, waited_ms),
    over: (partition_name) => waits.delete(partition_name),
    troubles() {
      const late = [...waits.values()].filter((ms) => ms >= trouble_after_ms)
      if (late.length === 0) return []
      const { name, topic } = consumers.installWriter
      return [
        {
          code: 'install_writer_behind',
          message: `${late.length} partitions wait for ${name}, up to ${Math.round(Math.max(...late) / 1000)} s: it has not read all of ${topic.name}.`,
          fix: `Look at the log of ${name}. No install is decided meanwhile, and none is lost.`,
          refuses: false,
        },
      ]
    },
  }
}
