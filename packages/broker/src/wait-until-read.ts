import { setTimeout as pause } from 'node:timers/promises'
import type { ConsumerGroup } from '@tributary/contracts/consumers'
import type { Broker } from './broker.ts'

export interface ReadBefore {
  broker: Pick<Broker, 'groupOffsets'>
  /** The wait ends with it, and rejects. */
  signal: AbortSignal
  /** Maximum wait; it waits for as long as it takes where this is absent. */
  wait_ms_max?: number
  /** Called while it waits, with how long it has. */
  onWait?(waited_ms: number): void
}

/** Between two looks at the offsets of a group: far below what a batch takes. */
const look_pause_ms = 20

/**
 * Waits until a group has read what stands in its topic now: nothing is left between the greater of committed and earliest
 * offset and the end as it was at the first look. A topic without anything unread costs one call. Resolves to false when that
 * took too long.
 */
export async function waitUntilRead(
  { name, topic }: Pick<ConsumerGroup, 'name' | 'topic'>,
  { broker, signal, wait_ms_max = Number.POSITIVE_INFINITY, onWait }: ReadBefore,
): Promise<boolean> {
  const begun_ms = performance.now()
  const ends = new Map<number, number>()
  for (;;) {
    signal.throwIfAborted()
    const offsets = await broker.groupOffsets(name, topic.name, { dated: false })
    for (const { partition, end } of offsets) if (!ends.has(partition)) ends.set(partition, end)
    const isRead = offsets.every(({ partition, committed, earliest }) => {
      return Math.max(committed ?? 0, earliest) >= ends.get(partition)!
    })
    if (isRead) return true
    const waited_ms = performance.now() - begun_ms
    if (waited_ms >= wait_ms_max) return false
    onWait?.(waited_ms)
    await pause(look_pause_ms, undefined, { signal })
  }
}
