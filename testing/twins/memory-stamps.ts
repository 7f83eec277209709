import type { StampedPartition, StampStore } from '@tributary/service-kit/consumer/stamps'

/** Stamps like those of PostgreSQL, by a clock of the test. */
export interface MemoryStamps extends StampStore {
  /** Promises what is complete, as a reader does. */
  seal(): number
  epochs: number
  /** All methods reject while it is true. */
  away: boolean
}

export function memoryStamps(now: () => number): MemoryStamps {
  const known = new Map<string, { at: StampedPartition; newest_ms: number; open: Set<number> }>()
  let sealed_ms = 0
  const requireHere = () => {
    if (store.away) throw new Error('the stamps are away')
  }
  const nameOf = ({ consumer, topic, partition }: StampedPartition) => `${consumer}/${topic}/${partition}`
  function endUpTo(at: StampedPartition, ms: number) {
    const open = known.get(nameOf(at))?.open
    for (const one of open ?? []) if (one <= ms) open!.delete(one)
  }
  const store: MemoryStamps = {
    away: false,
    epochs: 0,
    seal() {
      sealed_ms = Math.max(sealed_ms, now())
      return Math.min(sealed_ms + 1, ...[...known.values()].flatMap(({ open }) => [...open]))
    },
    async pin(at, done_ms) {
      requireHere()
      endUpTo(at, done_ms)
      const of = known.get(nameOf(at)) ?? { at, newest_ms: 0, open: new Set<number>() }
      of.newest_ms = Math.max(now(), sealed_ms + 1, done_ms + 1, of.newest_ms + 1)
      of.open.add(of.newest_ms)
      known.set(nameOf(at), of)
      return of.newest_ms
    },
    async end(at, stamp_ms) {
      requireHere()
      endUpTo(at, stamp_ms)
    },
    async findOpen(consumer, topic) {
      requireHere()
      const own = [...known.values()].filter(
        ({ at, open }) => at.consumer === consumer && at.topic === topic && open.size,
      )
      return own.map(({ at, open }) => ({ partition: at.partition, newest_ms: Math.max(...open) }))
    },
    async startEpoch() {
      requireHere()
      store.epochs += 1
    },
  }
  return store
}
