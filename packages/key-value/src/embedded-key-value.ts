import { open } from 'lmdb'
import { committed, type Entry, openShelf } from './embedded-shelf.ts'
import type { KeyValue } from './key-value.ts'
import { openRings } from './rings.ts'
import { hitSlidingWindow } from './sliding-window.ts'

export interface EmbeddedKeyValueOptions {
  dir: string
  now: () => number
}

export interface EmbeddedKeyValue extends KeyValue {
  /** Deletes expired keys, in memory and on disk; runs by itself once a minute. Returns how many. */
  sweep(): Promise<number>
}

interface Counter extends Entry {
  total: number
  mark?: { mark_id: string; total: number }
}
interface Window extends Entry {
  hits: number[]
}

const sweep_interval_ms = 60_000

/**
 * Counters in a folder, for one process. Every step is done in memory, so it is atomic. `close` loses nothing. A kill loses:
 * - of counters the last second, as with Redis. Quotas are reconciled with ClickHouse (docs/rules.md#counters-that-are-away).
 * - the windows, which last a minute: a key or a network may then pass its rate once
 *   (docs/decisions/door.md#windows-are-written-when-the-store-closes).
 */
export async function openEmbeddedKeyValue({ dir, now }: EmbeddedKeyValueOptions): Promise<EmbeddedKeyValue> {
  // Event turn batching wraps each write in a batch of its own, whose failure nobody could catch.
  const env = open({ path: dir, eventTurnBatching: false })
  const health = env.openDB<number, string>({ name: 'health' })
  const counters = openShelf<Counter>(env.openDB({ name: 'counters' }), now)
  const windows = openShelf<Window>(env.openDB({ name: 'windows' }), now, {
    written_at_flush_only: true,
    isOver: ({ hits }, now_ms) => hits[0]! > now_ms,
  })
  const rings = openRings(now)
  let closing: Promise<void> | null = null

  async function sweep(): Promise<number> {
    const forgotten = await Promise.all([counters.sweep(), windows.sweep()])
    return forgotten[0] + forgotten[1]
  }
  // A sweep that fails leaves keys that count as expired anyway; what is written next deletes them.
  const sweeping = setInterval(() => void sweep().catch(() => {}), sweep_interval_ms).unref()

  function assertOpen() {
    if (closing !== null) throw new Error('the key-value store is closed')
  }

  /** The expiry of a counter. A clock that was ahead does not prolong it. */
  const expiryOf = (known: Entry | undefined, ttl_ms: number) =>
    Math.min(known?.expires_at_ms ?? Number.POSITIVE_INFINITY, now() + ttl_ms)

  /** Ends the lifetime that a clock ahead gave to a counter which stays as it is. */
  function shorten(key: string, known: Counter, ttl_ms: number): void {
    const expires_at_ms = expiryOf(known, ttl_ms)
    if (expires_at_ms < known.expires_at_ms) counters.put(key, { ...known, expires_at_ms })
  }

  async function close() {
    clearInterval(sweeping)
    rings.close()
    await Promise.allSettled([counters.flush(), windows.flush()])
    await env.close()
  }

  return {
    is_local: true,
    async addCapped(key, n, cap, ttl_ms, mark_id) {
      assertOpen()
      const known = counters.get(key)
      const total = Math.max(0, (known?.total ?? 0) + n)
      const marked = { mark_id: known?.mark?.mark_id ?? null }
      if (n > 0 && cap !== null && total > cap) {
        if (known) shorten(key, known, ttl_ms)
        return { added: false, total: known?.total ?? 0, ...marked }
      }
      const less = known?.mark?.mark_id === mark_id ? 0 : Math.min(0, n)
      const mark = known?.mark && { ...known.mark, total: Math.max(0, known.mark.total + less) }
      counters.put(key, { total, expires_at_ms: expiryOf(known, ttl_ms), ...(mark && { mark }) })
      return { added: true, total, ...marked }
    },
    async mark(key, mark_id) {
      assertOpen()
      const known = counters.get(key)
      if (known === undefined) return null
      counters.put(key, { ...known, mark: { mark_id, total: known.total } })
      return known.total
    },
    async reconcile(key, counted, mark_id, ttl_ms) {
      assertOpen()
      const known = counters.get(key)
      const before = known?.total ?? 0
      const mark = known?.mark
      const expires_at_ms = expiryOf(known, ttl_ms)
      const reconciles = mark !== undefined && mark.mark_id === mark_id
      const excess = reconciles ? Math.max(0, mark.total - counted) : 0
      const total = Math.max(before - excess, counted)
      if (total !== before || reconciles || (known !== undefined && known.expires_at_ms > expires_at_ms))
        counters.put(key, { total, expires_at_ms, ...(mark && !reconciles && { mark }) })
      return total
    },
    async hitWindow(key, limit, window_ms) {
      assertOpen()
      const hits = windows.get(key)?.hits ?? []
      const { expires_at_ms, ...hit } = hitSlidingWindow({ hits }, limit, window_ms, now())
      if (hit.allowed) windows.put(key, { hits, expires_at_ms })
      return hit
    },
    async get(key, ttl_ms = Number.POSITIVE_INFINITY) {
      assertOpen()
      const known = counters.get(key)
      if (known === undefined) return null
      shorten(key, known, ttl_ms)
      return known.total
    },
    async remove(key) {
      assertOpen()
      counters.remove(key)
    },
    async append(...ring) {
      assertOpen()
      await rings.append(...ring)
    },
    async read(...ring) {
      assertOpen()
      return rings.read(...ring)
    },
    async checkHealth() {
      assertOpen()
      await committed(health.put('seen_ms', now()))
      await health.flushed
    },
    close() {
      closing ??= close()
      return closing
    },
    sweep,
  }
}
