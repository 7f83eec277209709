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
  /** Of bodies that were read for `items`. */
  bytes: number
  writing: boolean
}

/**
 * Shows watchers what comes in. Nothing is read or written for an app that nobody watches. A write holds at most so many events of
 * each kind, and a flush so many bytes; the others only count, so that watchers know what they miss.
 */
export function createLiveFeed({ keyValue, elapsed, registry }: FeedDeps): LiveFeed {
  const watched = createWatchedApps<Watched>({ keyValue, elapsed }, () => ({
    ...{ from: randomUUID(), total: 0, before: 0, writing: false },
    ...nothing(),
  }))
  const dropped = sharedMetric(registry, Counter, {
    name: 'tributary_live_dropped_total',
    help: 'Writes to the feeds of watched apps that the key-value store did not take.',
  })
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

  function keep(app: Watched, kind: Kind, items: readonly FullItem[], company_id: string): void {
    for (const item of items) {
      const kept = app.kinds.get(kind) ?? 0
      const text = JSON.stringify(item)
      if (kept >= mostOf[kind] || !spend(company_id, Buffer.byteLength(text))) return
      app.kinds.set(kind, kept + 1)
      app.items.push(text)
    }
  }

  async function write(app_id: string, app: Watched): Promise<void> {
    const { from, total, before, items } = app
    Object.assign(app, { ...nothing(), writing: true })
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
      keep(app, kind, items, answered.company_id)
    },
    look: () => watched.look(),
    async flush() {
      bytes_of_all = 0
      written_bytes = 0
      written_bytes_of.clear()
      const all = [...watched.all()]
      // Were they kept, many flushes would be written at once when a slow store recovers.
      for (const [, app] of all) if (app.writing) Object.assign(app, nothing())
      const due = all.filter(([, app]) => !app.writing && app.total > app.before)
      await Promise.all(due.map(([app_id, app]) => write(app_id, app)))
    },
  }
}

/** What an app that is watched holds right after a write. */
const nothing = (): Pick<Watched, 'items' | 'kinds' | 'bytes'> => ({ items: [], kinds: new Map(), bytes: 0 })

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
