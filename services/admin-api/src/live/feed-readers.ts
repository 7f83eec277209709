import type { FeedWrite } from '@tributary/contracts/admin/live/feed'
import { rateLimited } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { KeyValue } from '@tributary/key-value/key-value'

type Store = Pick<KeyValue, 'append' | 'read'>

/** One viewer of a feed. */
export interface FeedViewer<Shown> {
  /** Takes the new items, and the number of those that the feed itself left out. */
  take(shown: readonly Shown[], missed: number): void
}

export interface FeedReaders<Shown> {
  /**
   * Shows a viewer what comes in for an app or a link from now on; returns what ends that. Throws where too many are watched.
   */
  watch(watched: { id: string; company_id: string }, viewer: FeedViewer<Shown>): Promise<() => void>
  close(): void
}

interface ReaderOptions<Item, Shown> {
  keyValue: Store
  /** The ring in which gateways read what is watched. */
  ring: string
  ringOf: (id: string) => string
  /** Done once for all viewers. */
  toShown: (item: Item) => Shown
}

interface Watched<Shown> {
  company_id: string
  viewers: Set<FeedViewer<Shown>>
  read: () => Promise<void>
}

/** Reads each feed once for all its viewers, and has gateways write it: they write what is named as watched. */
export function createFeedReaders<Item, Shown>(options: ReaderOptions<Item, Shown>): FeedReaders<Shown> {
  const { keyValue, ring } = options
  const all = new Map<string, Watched<Shown>>()
  const announce = async (ids: readonly string[]) => {
    const text = JSON.stringify(ids)
    // A store that is away is asked again in a second.
    await keyValue.append(ring, text, limits.live_writes_max, limits.live_watch_ms_max).catch(() => {})
  }
  const timers = [
    setInterval(() => all.size > 0 && void announce([...all.keys()]), limits.live_watch_ms),
    setInterval(() => {
      for (const { read } of all.values()) void read()
    }, limits.live_read_ms),
  ]
  for (const timer of timers) timer.unref()

  return {
    async watch({ id, company_id }, viewer) {
      let watched = all.get(id)
      if (watched === undefined) {
        const of_company = all.values().filter((one) => one.company_id === company_id)
        if (all.size >= limits.live_apps_max || [...of_company].length >= limits.live_apps_of_company_max)
          throw rateLimited(1000)
        const viewers = new Set<FeedViewer<Shown>>()
        watched = { company_id, viewers, read: createReader(options, id, viewers) }
        all.set(id, watched)
        viewers.add(viewer)
        await watched.read()
        await announce([id])
      }
      const { viewers } = watched
      viewers.add(viewer)
      return () => {
        viewers.delete(viewer)
        if (viewers.size === 0 && all.get(id) === watched) all.delete(id)
      }
    },
    close() {
      for (const timer of timers) clearInterval(timer)
    },
  }
}

/** Makes the function that reads what is new. The first read only finds out where that begins. */
function createReader<Item, Shown>(
  { keyValue, ringOf, toShown }: ReaderOptions<Item, Shown>,
  id: string,
  viewers: ReadonlySet<FeedViewer<Shown>>,
): () => Promise<void> {
  /** What each gateway had counted in its last write that was read. */
  const totals = new Map<string, number>()
  let position: number | null = null
  let reading = false

  function show(writes: readonly FeedWrite<Item>[]): void {
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
      const found = await keyValue.read(ringOf(id), position ?? 0, limit)
      position = found.position
      show(found.texts.map((text) => JSON.parse(text) as FeedWrite<Item>))
    } catch {
      // What is written meanwhile is read later, or counts as missed.
    } finally {
      reading = false
    }
  }
}
