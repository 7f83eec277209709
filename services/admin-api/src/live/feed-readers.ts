import { type FeedWrite, feedKey, refusalCodes, refusalsKey, watched_key } from '@tributary/contracts/admin/live/feed'
import type { KeptRefusal } from '@tributary/contracts/admin/live/live'
import { rateLimited } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { KeyValue } from '@tributary/key-value/key-value'
import { toShown, type Viewer } from './viewer.ts'

type Store = Pick<KeyValue, 'append' | 'read'>

export interface FeedReaders {
  /** Shows a viewer what comes in for an app from now on; returns what ends that. Throws where too many apps are watched. */
  watch(app: { app_id: string; company_id: string }, viewer: Viewer): Promise<() => void>
  /** The last refusals of an app, the oldest first, as they were at most a second ago. */
  kept(app_id: string): Promise<readonly KeptRefusal[]>
  close(): void
}

/** Reads the feed of each app once for all its viewers, and has gateways write it: they write for apps that are named as watched. */
export function createFeedReaders(keyValue: Store): FeedReaders {
  const apps = new Map<string, { company_id: string; viewers: Set<Viewer>; read: () => Promise<void> }>()
  const kept = new Map<string, Promise<KeptRefusal[]>>()
  const announce = async (names: readonly string[]) => {
    const text = JSON.stringify(names)
    // A store that is away is asked again in a second.
    await keyValue.append(watched_key, text, limits.live_writes_max, limits.live_watch_ms_max).catch(() => {})
  }
  const timers = [
    setInterval(() => apps.size > 0 && void announce([...apps.keys()]), limits.live_watch_ms),
    setInterval(() => {
      for (const { read } of apps.values()) void read()
    }, limits.live_read_ms),
  ]
  for (const timer of timers) timer.unref()

  return {
    async watch({ app_id, company_id }, viewer) {
      let app = apps.get(app_id)
      if (app === undefined) {
        const of_company = apps.values().filter((one) => one.company_id === company_id)
        if (apps.size >= limits.live_apps_max || [...of_company].length >= limits.live_apps_of_company_max)
          throw rateLimited(1000)
        const viewers = new Set<Viewer>()
        app = { company_id, viewers, read: createReader(keyValue, app_id, viewers) }
        apps.set(app_id, app)
        viewers.add(viewer)
        await app.read()
        await announce([app_id])
      }
      const { viewers } = app
      viewers.add(viewer)
      return () => {
        viewers.delete(viewer)
        if (viewers.size === 0 && apps.get(app_id) === app) apps.delete(app_id)
      }
    },
    kept(app_id) {
      // Many viewers may come at once: the rings are many, and read once for all of them.
      const found = kept.get(app_id) ?? readKeptRefusals(keyValue, app_id)
      if (!kept.has(app_id)) {
        kept.set(app_id, found)
        setTimeout(() => kept.delete(app_id), limits.live_watch_ms).unref()
      }
      return found
    },
    close() {
      for (const timer of timers) clearInterval(timer)
    },
  }
}

/** Makes the function that reads what is new. The first read only finds out where that begins. */
function createReader(keyValue: Store, app_id: string, viewers: ReadonlySet<Viewer>): () => Promise<void> {
  /** What each gateway had counted in its last write that was read. */
  const totals = new Map<string, number>()
  let position: number | null = null
  let reading = false

  function show(writes: readonly FeedWrite[]): void {
    let missed = 0
    for (const { from, before, total, items } of writes) {
      missed += total - (totals.get(from) ?? before) - items.length
      totals.set(from, total)
    }
    const shown = writes.flatMap(({ items }) => items).map(toShown)
    for (const viewer of viewers) viewer.take(shown, missed)
  }

  return async () => {
    if (reading) return
    reading = true
    try {
      const limit = position === null ? 0 : limits.live_writes_max
      const found = await keyValue.read(feedKey(app_id), position ?? 0, limit)
      position = found.position
      show(found.texts.map((text) => JSON.parse(text) as FeedWrite))
    } catch {
      // What is written meanwhile is read later, or counts as missed.
    } finally {
      reading = false
    }
  }
}

async function readKeptRefusals(keyValue: Store, app_id: string): Promise<KeptRefusal[]> {
  const keys = refusalCodes.flatMap((code) => [refusalsKey(app_id, code, false), refusalsKey(app_id, code, true)])
  const rings = await Promise.all(keys.map((key) => keyValue.read(key, 0, limits.refusals_kept_max)))
  const kept = rings.flatMap(({ texts }) => texts).map((text) => JSON.parse(text) as KeptRefusal)
  return kept.toSorted((a, b) => a.at_ms - b.at_ms)
}
