import { feedKey, watched_key } from '@tributary/contracts/admin/live/feed'
import { limits } from '@tributary/contracts/limits'
import { createFeedWriter, type Feed, newFeed } from '@tributary/gateway/live/feed-writer'
import { createWatched } from '@tributary/gateway/live/watched'
import type { KeyValue } from '@tributary/key-value/key-value'
import type { Registry } from 'prom-client'
import { type Answered, countOf, type FullItem, readItems } from './request-fate.ts'

export interface FeedDeps {
  keyValue: Pick<KeyValue, 'read' | 'append'>
  elapsed: () => number
  registry: Registry
}

export interface LiveFeed {
  /** Takes note of a request whose answer is out, if somebody watches its app. */
  note(answered: Answered): void
  look(): Promise<void>
  /** Writes what was noted. It waits for nothing that is under way, and drops what the store does not take: the next one counts it. */
  flush(): Promise<void>
}

type Kind = 'accepted' | 'rejected' | 'refused' | 'unproven'

/** An app that is watched. */
interface WatchedApp extends Feed {
  kinds: Map<Kind, number>
  /** Of bodies that were read for `items`. */
  bytes: number
}

/**
 * Shows watchers what comes in. Nothing is read or written for an app that nobody watches. A write holds at most so many events of
 * each kind, and a flush so many bytes; the others only count, so that watchers know what they miss.
 */
export function createLiveFeed({ keyValue, elapsed, registry }: FeedDeps): LiveFeed {
  const makeState = (): WatchedApp => ({ ...newFeed(), ...nothing() })
  const watched = createWatched({ keyValue, elapsed, ring: watched_key, makeState })
  const clear = (app: WatchedApp) => void Object.assign(app, nothing())
  const write = createFeedWriter({ keyValue, registry, ringOf: feedKey, clear })
  let bytes_of_all = 0
  /** Bytes that the next flush writes, of all apps and of each company. */
  let written_bytes = 0
  const written_bytes_of = new Map<string, number>()

  /** Takes bytes of what one flush may write; false where they are too many. */
  function spend(company_id: string, bytes: number): boolean {
    const of_company = (written_bytes_of.get(company_id) ?? 0) + bytes
    if (of_company > limits.live_write_bytes_of_company_max || written_bytes + bytes > limits.live_write_bytes_max)
      return false
    written_bytes += bytes
    written_bytes_of.set(company_id, of_company)
    return true
  }

  function keep(app: WatchedApp, kind: Kind, items: readonly FullItem[], company_id: string): void {
    for (const item of items) {
      const kept = app.kinds.get(kind) ?? 0
      const text = JSON.stringify(item)
      if (kept >= mostOf[kind] || !spend(company_id, Buffer.byteLength(text))) return
      app.kinds.set(kind, kept + 1)
      app.items.push(text)
    }
  }

  return {
    note(answered) {
      const app = watched.get(answered.app_id)
      if (app === undefined) return
      const count = countOf(answered.request.ingest)
      if (count === 0) return
      app.total += count
      const kind = kindOf(answered)
      const room = mostOf[kind] - (app.kinds.get(kind) ?? 0)
      if (room <= 0 || app.bytes >= limits.live_read_bytes_max || bytes_of_all >= limits.live_read_bytes_of_all_max)
        return
      const { items, bytes } = readItems(answered, room)
      app.bytes += bytes
      bytes_of_all += bytes
      keep(app, kind, items, answered.company_id)
    },
    look: () => watched.look(),
    async flush() {
      bytes_of_all = 0
      written_bytes = 0
      written_bytes_of.clear()
      await write(watched.all())
    },
  }
}

/** What an app that is watched holds right after a write. */
const nothing = (): Pick<WatchedApp, 'items' | 'kinds' | 'bytes'> => ({ items: [], kinds: new Map(), bytes: 0 })

const mostOf: Record<Kind, number> = {
  accepted: limits.live_events_of_write_max,
  rejected: limits.live_events_of_write_max,
  refused: limits.live_events_of_write_max,
  unproven: limits.live_unproven_of_write_max,
}

function kindOf({ request: { ingest } }: Answered): Kind {
  if (ingest.code !== 'ok') return ingest.proven ? 'refused' : 'unproven'
  return ingest.rejected.size > 0 ? 'rejected' : 'accepted'
}
