import { watched_key } from '@tributary/contracts/admin/live/feed'
import { limits } from '@tributary/contracts/limits'
import type { KeyValue } from '@tributary/key-value/key-value'

/** Apps that somebody watches now, as this gateway knows it, with something of each. */
export interface WatchedApps<State> {
  /** Undefined for an app that nobody watches. */
  get(app_id: string): State | undefined
  all(): Iterable<[string, State]>
  /** Reads what watchers have said since. A store that is away leaves all as it was. */
  look(): Promise<void>
}

export function createWatchedApps<State>(
  { keyValue, elapsed }: { keyValue: Pick<KeyValue, 'read'>; elapsed: () => number },
  makeState: () => State,
): WatchedApps<State> {
  const watched = new Map<string, { state: State; until: number }>()
  let position = 0

  function renew(app_id: string): void {
    const known = watched.get(app_id)
    if (known === undefined && watched.size >= limits.live_apps_max) return
    watched.set(app_id, { state: known?.state ?? makeState(), until: elapsed() + limits.live_watch_ms_max })
  }

  return {
    get: (app_id) => watched.get(app_id)?.state,
    all: () => watched.entries().map(([app_id, { state }]) => [app_id, state] as [string, State]),
    async look() {
      try {
        const read = await keyValue.read(watched_key, position, limits.live_writes_max)
        position = read.position
        for (const text of read.texts) for (const app_id of JSON.parse(text) as string[]) renew(app_id)
      } catch {
        return // watchers may be there, and are to know what they miss
      }
      for (const [app_id, { until }] of watched) if (until <= elapsed()) watched.delete(app_id)
    },
  }
}
