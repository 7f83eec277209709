import { firstUnread } from '../../unread.ts'
import { kafkaTimeouts } from '../kafka-client.ts'
import type { PartitionRange } from '../kafka-offsets.ts'

/** Where an assigned partition stands. */
export interface Position {
  partition: number
  generation: string
  next_offset: number
}

export interface WatchdogOptions {
  /** How often it looks. */
  watch_ms: number
  /** Positions of the partitions that should move: none whose handler is at work. */
  standing(): Promise<Position[]>
  ranges(): Promise<PartitionRange[]>
  onStall(reason: string): void
}

/**
 * Tells when a consumer does nothing though it should: kafkajs is known to stop fetching without an error. Two looks in
 * a row that find the same position below the end are a stall, and so is long silence.
 */
export function createWatchdog({ watch_ms, standing, ranges, onStall }: WatchdogOptions) {
  let last_alive_ms = performance.now()
  let suspects = new Set<string>()

  function stall(reason: string) {
    suspects = new Set()
    last_alive_ms = performance.now()
    onStall(reason)
  }

  async function look() {
    if (performance.now() - last_alive_ms > kafkaTimeouts.silence_ms_max) return stall('silence')
    const positions = await standing()
    const rangeOf = new Map((await ranges()).map((range) => [range.partition, range]))
    const behind = positions.filter(({ partition, next_offset }) => {
      const { earliest = 0, end = 0 } = rangeOf.get(partition) ?? {}
      return firstUnread({ committed: next_offset, earliest, end }) < end
    })
    const idle = new Set(behind.map((position) => JSON.stringify(position)))
    const stalled = [...idle].filter((position) => suspects.has(position))
    suspects = idle
    if (stalled.length > 0) stall(`lag and no progress: ${stalled.join()}`)
  }

  const timer = setInterval(() => {
    look().catch(() => {}) // Kafka is away: nothing can be said, and kafkajs or the silence will tell
  }, watch_ms).unref()
  return {
    alive() {
      last_alive_ms = performance.now()
    },
    stop: () => clearInterval(timer),
  }
}
