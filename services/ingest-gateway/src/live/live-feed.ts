import { randomUUID } from 'node:crypto'
import { type FeedWrite, feedKey } from '@tributary/contracts/admin/live/feed'
import { limits } from '@tributary/contracts/limits'
import type { KeyValue } from '@tributary/key-value/key-value'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { Counter, type Registry } from 'prom-client'
import { type Answered, countOf, eventsOf, type FullItem, refusalOf } from './request-fate.ts'
import { createWatchedApps } from './watched-apps.ts'

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
interface Watched {
  from: string
  total: number
  /** `total` at the last write that the store took. */
  before: number
  /** JSON of each. */
  items: string[]
  kinds: Map<Kind, number>
  chars: number
  bytes: number
  writing: boolean
}

/**
 * Shows watchers what comes in. Nothing is read or written for an app that nobody watches. A write holds at most so many events of
 * each kind; the others only count, so that watchers know what they miss.
 */
export function createLiveFeed({ keyValue, elapsed, registry }: FeedDeps): LiveFeed {
  const watched = createWatchedApps<Watched>({ keyValue, elapsed }, () => ({
    ...{
      from: randomUUID(),
      total: 0,
      before: 0,
      items: [],
      kinds: new Map(),
      chars: 0,
      bytes: 0,
      writing: false,
    },
  }))
  const dropped = sharedMetric(registry, Counter, {
    name: 'tributary_live_dropped_total',
    help: 'Writes to the feeds of watched apps that the key-value store did not take.',
  })
  let bytes_of_all = 0

  function keep(app: Watched, kind: Kind, items: readonly FullItem[]): void {
    for (const item of items) {
      const kept = app.kinds.get(kind) ?? 0
      const text = JSON.stringify(item)
      if (kept >= mostOf[kind] || app.chars + text.length > limits.live_write_chars_max) return
      app.kinds.set(kind, kept + 1)
      app.chars += text.length
      app.items.push(text)
    }
  }

  async function write(app_id: string, app: Watched): Promise<void> {
    const { from, total, before, items } = app
    Object.assign(app, { items: [], kinds: new Map(), chars: 0, bytes: 0, writing: true })
    try {
      const head = JSON.stringify({ from, before, total } satisfies Omit<FeedWrite, 'items'>)
      const text = `${head.slice(0, -1)},"items":[${items.join()}]}`
      await keyValue.append(feedKey(app_id), text, limits.live_writes_max, limits.live_kept_ms)
      app.before = total
    } catch {
      dropped.inc()
    } finally {
      app.writing = false
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
      const { items, bytes } = read(answered, room)
      app.bytes += bytes
      bytes_of_all += bytes
      keep(app, kind, items)
    },
    look: () => watched.look(),
    async flush() {
      bytes_of_all = 0
      const due = [...watched.all()].filter(([, app]) => !app.writing && app.total > app.before)
      await Promise.all(due.map(([app_id, app]) => write(app_id, app)))
    },
  }
}

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

function read(answered: Answered, room: number): { items: FullItem[]; bytes: number } {
  if (answered.request.ingest.code === 'ok') return eventsOf(answered, room)
  const { item, bytes } = refusalOf(answered)
  return { items: [item], bytes }
}
