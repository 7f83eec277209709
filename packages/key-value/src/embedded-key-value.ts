import { type Database, open } from 'lmdb'
import type { KeyValue } from './key-value.ts'
import { hitSlidingWindow } from './sliding-window.ts'

export interface EmbeddedKeyValueOptions {
  dir: string
  now: () => number
}

export interface EmbeddedKeyValue extends KeyValue {
  /** Deletes expired keys, in memory and on disk; runs by itself once a minute. Returns how many. */
  sweep(): Promise<number>
}

interface Entry {
  expires_at_ms: number
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
 * From a change to its commit, as often as Redis (`appendfsync everysec`). A commit for each would cost the door a tenth
 * of its CPU; and a busy key's window is up to 1000 times, written whole each time.
 */
const write_behind_ms = 1000

/**
 * Counters in a folder, for one process. Every step is done in memory, so it is atomic, and committed to lmdb within a
 * second. A kill may lose that second, as with Redis. A key may then pass its rate by the requests of that second, and
 * quotas are reconciled with ClickHouse (docs/rules.md#counters-that-are-away). `close` loses nothing.
 */
export async function openEmbeddedKeyValue({ dir, now }: EmbeddedKeyValueOptions): Promise<EmbeddedKeyValue> {
  // Event turn batching wraps each write in a batch of its own, whose failure nobody could catch.
  const env = open({ path: dir, eventTurnBatching: false })
  const health = env.openDB<number, string>({ name: 'health' })
  const counters = openShelf<Counter>(env.openDB({ name: 'counters' }), now)
  const windows = openShelf<Window>(env.openDB({ name: 'windows' }), now)
  let closing: Promise<void> | null = null

  async function sweep(): Promise<number> {
    const forgotten = await Promise.all([counters.sweep(), windows.sweep()])
    return forgotten[0] + forgotten[1]
  }
  // A sweep that fails leaves keys that count as expired anyway; the next one deletes them.
  const sweeping = setInterval(() => void sweep().catch(() => {}), sweep_interval_ms).unref()

  function assertOpen() {
    if (closing !== null) throw new Error('the key-value store is closed')
  }

  async function close() {
    clearInterval(sweeping)
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
      if (n > 0 && cap !== null && total > cap) return { added: false, total: known?.total ?? 0, ...marked }
      const less = known?.mark?.mark_id === mark_id ? 0 : Math.min(0, n)
      const mark = known?.mark && { ...known.mark, total: Math.max(0, known.mark.total + less) }
      counters.put(key, { total, expires_at_ms: known?.expires_at_ms ?? now() + ttl_ms, ...(mark && { mark }) })
      return { added: true, total, ...marked }
    },
    async mark(key, mark_id) {
      assertOpen()
      const known = counters.get(key)
      if (known === undefined) return null
      counters.put(key, { ...known, mark: { mark_id, total: known.total } })
      return known.total
    },
    async settle(key, counted, mark_id, ttl_ms) {
      assertOpen()
      const { total: before, mark, expires_at_ms } = counters.get(key) ?? { total: 0, expires_at_ms: now() + ttl_ms }
      const settles = mark !== undefined && mark.mark_id === mark_id
      const excess = settles ? Math.max(0, mark.total - counted) : 0
      const total = Math.max(before - excess, counted)
      if (total !== before || settles) counters.put(key, { total, expires_at_ms, ...(mark && !settles && { mark }) })
      return total
    },
    async hitWindow(key, limit, window_ms) {
      assertOpen()
      const hits = windows.get(key)?.hits ?? []
      const { expires_at_ms, ...hit } = hitSlidingWindow({ hits }, limit, window_ms, now())
      if (hit.allowed) windows.put(key, { hits, expires_at_ms })
      return hit
    },
    async get(key) {
      assertOpen()
      return counters.get(key)?.total ?? null
    },
    async remove(key) {
      assertOpen()
      counters.remove(key)
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

/** Entries in memory, loaded from lmdb. Each change is written behind. */
function openShelf<E extends Entry>(database: Database<E, string>, now: () => number) {
  const entries = new Map<string, E>()
  const changed = new Set<string>()
  let timer: NodeJS.Timeout | null = null
  for (const { key, value } of database.getRange({})) entries.set(key, value)

  async function flush(): Promise<void> {
    if (timer !== null) clearTimeout(timer)
    timer = null
    const keys = [...changed]
    changed.clear()
    try {
      await committed(
        Promise.all(
          keys.map((key) => {
            const entry = entries.get(key)
            return entry === undefined ? database.remove(key) : database.put(key, entry)
          }),
        ),
      )
    } catch (error) {
      for (const key of keys) changed.add(key)
      throw error
    }
  }

  function change(key: string): void {
    changed.add(key)
    // A change that can't be written stays in memory and is tried with the next one; `checkHealth` fails meanwhile.
    timer ??= setTimeout(() => void flush().catch(() => {}), write_behind_ms).unref()
  }

  return {
    get(key: string): E | undefined {
      const entry = entries.get(key)
      return entry !== undefined && entry.expires_at_ms > now() ? entry : undefined
    },
    put(key: string, entry: E): void {
      entries.set(key, entry)
      change(key)
    },
    remove(key: string): void {
      if (entries.delete(key)) change(key)
    },
    flush,
    async sweep(): Promise<number> {
      const gone = [...entries].filter(([, { expires_at_ms }]) => expires_at_ms <= now())
      for (const [key] of gone) entries.delete(key)
      await committed(Promise.all(gone.map(([key]) => database.remove(key))))
      return gone.length
    },
  }
}

/** Rejects with the cause, which lmdb keeps in a promise of its own. Unhandled, that promise would end the process. */
async function committed(write: Promise<unknown>): Promise<void> {
  try {
    await write
  } catch (error) {
    const cause = await (error as { commitError?: Promise<never> }).commitError?.catch((inner: unknown) => inner)
    throw new Error('the key-value store could not be written', { cause: cause ?? error })
  }
}
