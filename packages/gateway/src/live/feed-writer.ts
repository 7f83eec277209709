import { randomUUID } from 'node:crypto'
import type { FeedWrite } from '@tributary/contracts/admin/live/feed'
import { limits } from '@tributary/contracts/limits'
import type { KeyValue } from '@tributary/key-value/key-value'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { Counter, type Registry } from 'prom-client'

/** The next write to the feed of an app or a link. */
export interface Feed {
  from: string
  total: number
  /** `total` at the last write that the store took. */
  before: number
  /** JSON of each. */
  items: string[]
  writing: boolean
}

export const newFeed = (): Feed => ({ from: randomUUID(), total: 0, before: 0, items: [], writing: false })

interface WriterOptions<Of extends Feed> {
  keyValue: Pick<KeyValue, 'append'>
  registry: Registry
  ringOf: (id: string) => string
  /** Forgets what a feed holds besides its totals. */
  clear: (feed: Of) => void
}

/**
 * Makes the function that writes feeds to their rings. It waits for nothing that is under way, and drops what the store does not take:
 * the next write counts it.
 */
export function createFeedWriter<Of extends Feed>({ keyValue, registry, ringOf, clear }: WriterOptions<Of>) {
  const dropped = sharedMetric(registry, Counter, {
    name: 'tributary_live_dropped_total',
    help: 'Writes to the feeds of watched apps and links that the key-value store did not take.',
  })

  async function write(id: string, feed: Of): Promise<void> {
    const { from, total, before, items } = feed
    clear(feed)
    feed.writing = true
    try {
      const head = JSON.stringify({ from, before, total } satisfies Omit<FeedWrite<unknown>, 'items'>)
      const text = `${head.slice(0, -1)},"items":[${items.join()}]}`
      await keyValue.append(ringOf(id), text, limits.live_writes_max, limits.live_kept_ms)
      feed.before = total
    } catch {
      dropped.inc()
    } finally {
      feed.writing = false
    }
  }

  return async (feeds: Iterable<[string, Of]>): Promise<void> => {
    const all = [...feeds]
    // Were they kept, many writes would be made at once when a slow store recovers.
    for (const [, feed] of all) if (feed.writing) clear(feed)
    const due = all.filter(([, feed]) => !feed.writing && feed.total > feed.before)
    await Promise.all(due.map(([id, feed]) => write(id, feed)))
  }
}
