import { limits } from '@tributary/contracts/limits'
import type { KeyValue } from '@tributary/key-value/key-value'

/** Apps or links that somebody watches now, as this gateway knows it, with something of each. */
export interface Watched<State> {
  /** Undefined where nobody watches. */
  get(id: string): State | undefined
  all(): Iterable<[string, State]>
  /** Reads what watchers have said since. A store that is away leaves all as it was. */
  look(): Promise<void>
}

interface WatchedOptions<State> {
  keyValue: Pick<KeyValue, 'read'>
  elapsed: () => number
  /** The ring in which watchers name what they watch. */
  ring: string
  makeState: () => State
}

export function createWatched<State>({ keyValue, elapsed, ring, makeState }: WatchedOptions<State>): Watched<State> {
  const watched = new Map<string, { state: State; until: number }>()
  let position = 0

  function renew(id: string): void {
    const known = watched.get(id)
    if (known === undefined && watched.size >= limits.live_apps_max) return
    watched.set(id, { state: known?.state ?? makeState(), until: elapsed() + limits.live_watch_ms_max })
  }

  return {
    get: (id) => watched.get(id)?.state,
    all: () => watched.entries().map(([id, { state }]) => [id, state] as [string, State]),
    async look() {
      try {
        const read = await keyValue.read(ring, position, limits.live_writes_max)
        position = read.position
        for (const text of read.texts) for (const id of JSON.parse(text) as string[]) renew(id)
      } catch {
        return // watchers may be there, and are to know what they miss
      }
      for (const [id, { until }] of watched) if (until <= elapsed()) watched.delete(id)
    },
  }
}
