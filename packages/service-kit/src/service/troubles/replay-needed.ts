import { Gauge, type Registry } from 'prom-client'
import type { Trouble } from '../health.ts'
import { sharedMetric } from '../shared-metric.ts'

/** Troubles that only a replay of the whole audit store ends, by what they are about. */
export type Noted = Readonly<Record<string, Trouble>>

/** Losses that only the audit store can fill, as troubles of `/health` and `tributary doctor`, and as a metric. */
export interface ReplayNeeded {
  /** `about` names a partition or a loss. A later trouble about the same takes the place of the earlier one. Kept when this returns. */
  note(about: string, trouble: Trouble): void
  isNoted(about: string): boolean
  /** Call it before a replay of the whole audit store, and what it gives back once that is done: what was noted before ends. */
  beginReplay(): () => void
  troubles(): Trouble[]
}

export interface ReplayNeededOptions {
  registry: Registry
  /** Losses that an earlier process kept. */
  known?: Noted
  /** Keeps all that is noted beyond the end of the process; without it the end forgets them. */
  keep?: (all: Noted) => void
}

export function createReplayNeeded({ registry, known = {}, keep = () => {} }: ReplayNeededOptions): ReplayNeeded {
  const noted = new Map(Object.entries(known))
  const needed = sharedMetric(registry, Gauge, {
    name: 'tributary_replay_needed',
    help: 'Losses that were found and that only a replay of the whole audit store fills.',
  })
  needed.inc(noted.size)
  return {
    note(about, trouble) {
      if (!noted.has(about)) needed.inc()
      noted.set(about, trouble)
      keep(Object.fromEntries(noted))
    },
    isNoted: (about) => noted.has(about),
    beginReplay() {
      const before = [...noted]
      return () => {
        const filled = before.filter(([about, trouble]) => noted.get(about) === trouble)
        for (const [about] of filled) noted.delete(about)
        needed.dec(filled.length)
        keep(Object.fromEntries(noted))
      }
    },
    troubles: () => [...noted.values()],
  }
}
