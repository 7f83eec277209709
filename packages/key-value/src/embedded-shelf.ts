import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from 'lmdb'

export interface Entry {
  expires_at_ms: number
}

/** Entries in memory that outlive their process. */
export interface Shelf<E extends Entry> {
  /** Undefined for an expired one too. */
  get(key: string): E | undefined
  put(key: string, entry: E): void
  remove(key: string): void
  /** Resolves when what was put before is committed. */
  flush(): Promise<void>
  /** Deletes expired entries, in memory and on disk; returns how many. */
  sweep(): Promise<number>
}

/**
 * Time between a change and its commit, as in Redis (`appendfsync everysec`). A commit for each would cost the door a
 * tenth of its CPU; and a busy key's window is up to 1000 times, written whole each time.
 */
const write_behind_ms = 1000

/** Entries that are written, or looked at, in one turn of the event loop. All requests of the process wait meanwhile. */
const written_in_a_turn_max = 128
/** Turns that share a commit. A commit waits for the disk, and `close` may have the windows of a minute to write. */
const ticks_of_a_commit_max = 64
const looked_at_in_a_turn_max = 4096

export interface ShelfOptions<E> {
  /** A kill loses the changes since the last `flush`, and not only those of `write_behind_ms`. */
  written_at_flush_only?: boolean
  /** Whether an entry is of no use before it expires. */
  isOver?: (entry: E, now_ms: number) => boolean
}

/** Entries of a database, loaded from it. Each change is written behind, a few in each turn of the event loop. */
export function openShelf<E extends Entry>(
  database: Database<E, string>,
  now: () => number,
  { written_at_flush_only = false, isOver = () => false }: ShelfOptions<E> = {},
): Shelf<E> {
  const entries = new Map<string, E>()
  /** Changes to write. `unwritten`: the database lacks the entry for certain, so nothing is written if the entry goes first. */
  const changed = new Map<string, { unwritten: boolean }>()
  let timer: NodeJS.Timeout | null = null
  let working: Promise<unknown> = Promise.resolve()
  for (const { key, value } of database.getRange({})) entries.set(key, value)

  /** What could not be written stays a change, and is written with the next ones. */
  async function write(keys: readonly string[]): Promise<void> {
    const uncommitted: Promise<void>[] = []
    try {
      for (let from = 0; from < keys.length; from += written_in_a_turn_max) {
        const some = keys.slice(from, from + written_in_a_turn_max)
        // An entry is looked up here, not before: it may have changed or gone in an earlier turn.
        const writes = some.map((key) => {
          const entry = entries.get(key)
          const change = changed.get(key)
          if (change !== undefined) change.unwritten = false
          return entry === undefined ? database.remove(key) : database.put(key, entry)
        })
        const commit = committed(Promise.all(writes))
        uncommitted.push(commit)
        const shared = uncommitted.length < ticks_of_a_commit_max
        await (shared ? Promise.race([commit, nextTurn()]) : Promise.all(uncommitted.splice(0)))
      }
      await Promise.all(uncommitted)
    } catch (error) {
      for (const key of keys) changed.set(key, { unwritten: false })
      throw error
    }
  }

  async function writeChanged(): Promise<void> {
    if (timer !== null) clearTimeout(timer)
    timer = null
    const keys = [...changed.keys()]
    changed.clear()
    await write(keys)
  }

  async function forgetExpired(): Promise<number> {
    const gone: string[] = []
    let forgotten = 0
    let looked = 0
    for (const [key, entry] of entries) {
      if (entry.expires_at_ms <= now() || isOver(entry, now())) {
        entries.delete(key)
        forgotten += 1
        if (!changed.get(key)?.unwritten) gone.push(key)
        changed.delete(key)
      }
      looked += 1
      if (looked % looked_at_in_a_turn_max === 0) await nextTurn()
    }
    await write(gone)
    return forgotten
  }

  /** One after the other: the last `flush` ends after all that writes. */
  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = working.then(work)
    working = done.catch(() => {})
    return done
  }

  function change(key: string, unwritten: boolean): void {
    if (!changed.has(key)) changed.set(key, { unwritten })
    if (written_at_flush_only) return
    // A change that can't be written stays in memory and is tried with the next one; `checkHealth` fails meanwhile.
    timer ??= setTimeout(() => void inTurn(writeChanged).catch(() => {}), write_behind_ms).unref()
  }

  return {
    get(key) {
      const entry = entries.get(key)
      return entry !== undefined && entry.expires_at_ms > now() ? entry : undefined
    },
    put(key, entry) {
      change(key, !entries.has(key))
      entries.set(key, entry)
    },
    remove(key) {
      if (!entries.delete(key)) return
      if (changed.get(key)?.unwritten) changed.delete(key)
      else change(key, false)
    },
    flush: () => inTurn(writeChanged),
    sweep: () => inTurn(forgetExpired),
  }
}

/** Rejects with the cause, which lmdb keeps in a promise of its own. Unhandled, that promise would end the process. */
export async function committed(write: Promise<unknown>): Promise<void> {
  try {
    await write
  } catch (error) {
    const cause = await (error as { commitError?: Promise<never> }).commitError?.catch((inner: unknown) => inner)
    throw new Error('the key-value store could not be written', { cause: cause ?? error })
  }
}
