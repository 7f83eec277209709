import { clicksKey, followed_key } from '@tributary/contracts/admin/live/feed'
import type { FollowedClick } from '@tributary/contracts/admin/live/follow'
import { limits } from '@tributary/contracts/limits'
import { createFeedWriter, type Feed, newFeed } from '@tributary/gateway/live/feed-writer'
import { createWatched } from '@tributary/gateway/live/watched'
import type { KeyValue } from '@tributary/key-value/key-value'
import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'

export interface ClickFeed {
  /** Takes note of a click if somebody follows its link. */
  note(link_id: string, click: FollowedClick): void
}

interface FeedDeps {
  keyValue: Pick<KeyValue, 'read' | 'append'>
  registry: Registry
  elapsed?: (() => number) | undefined
}

/**
 * Shows clicks to who follows their link. Nothing is kept or written for a link that nobody follows; of others, a write holds the first
 * clicks since the one before, and counts the rest. A store that is slow or away delays no redirect.
 */
export function openClickFeed(
  app: FastifyInstance,
  { keyValue, registry, elapsed = () => performance.now() }: FeedDeps,
): ClickFeed {
  const followed = createWatched({ keyValue, elapsed, ring: followed_key, makeState: newFeed })
  const clear = (feed: Feed) => {
    feed.items = []
  }
  const write = createFeedWriter({ keyValue, registry, ringOf: clicksKey, clear })
  const timers = [
    setInterval(() => void followed.look(), limits.live_watch_ms),
    setInterval(() => void write(followed.all()), limits.live_flush_ms),
  ]
  for (const timer of timers) timer.unref()
  app.addHook('onClose', async () => {
    for (const timer of timers) clearInterval(timer)
  })
  return {
    note(link_id, click) {
      const feed = followed.get(link_id)
      if (feed === undefined) return
      feed.total += 1
      if (feed.items.length < limits.follow_clicks_of_write_max) feed.items.push(JSON.stringify(click))
    },
  }
}
