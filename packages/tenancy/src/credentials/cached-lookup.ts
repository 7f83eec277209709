import { limits } from '@tributary/contracts/limits'
import { LRUCache } from 'lru-cache'
import { postgresUnavailable } from '../postgres-unavailable.ts'

const known_entries_max = 50_000
const unknown_entries_max = 10_000
/** Pause after a failed load before the next one. Until then stale answers cost nothing. */
const retry_pause_ms = 500
/** How long a request waits for a fresh answer when it could have a stale one. */
const stale_after_wait_ms = 1_000

/** A value that a change of its company makes stale; null belongs to none. */
interface OfCompany {
  company_id: string | null
}

export interface LookupOptions<Row, Value extends OfCompany> {
  /** Queries PostgreSQL; null when there is no such row. */
  load(key: string): Promise<Row | null>
  /** May throw for a row that can't be used (a secret without its master key). */
  toValue(row: Row): Value
  /** Clock of ages alone: `elapsed` of `Service`. */
  now: () => number
  /** Called for every load that failed. */
  onFailure(error: unknown): void
  onStaleAnswer(): void
}

/** What memory holds of a key: a value (young or old), a young answer that there is none, or nothing that spares a query. */
export type Remembered = 'known' | 'unknown' | 'unasked'

export interface CachedLookup<Value> {
  /** A hit costs one look-up in a Map and returns the same settled promise again. */
  find(key: string): Promise<Value | null>
  recall(key: string): Remembered
  /** Marks the answers of a company (all of them for undefined) as perhaps changed. */
  invalidate(company_id: string | undefined): void
}

interface Entry<Value> {
  answer: Promise<Value | null>
  /** Null also for an unknown key. */
  company_id: string | null
  loaded_at: number
  fresh_until: number
}

interface Load<Value> {
  answer: Promise<Value | null>
  /** Companies that changed while it ran ('*': all). */
  changed: Set<string>
  /** A request has waited for it as long as requests wait. */
  slow: boolean
}

/**
 * Answers from memory: fresh for 10 s at most, going on for 10 minutes while PostgreSQL is away
 * (docs/rules.md#credentials-in-memory).
 */
export function cachedLookup<Row, Value extends OfCompany>(options: LookupOptions<Row, Value>): CachedLookup<Value> {
  const { load, toValue, now, onFailure, onStaleAnswer } = options
  const known = new LRUCache<string, Entry<Value>>({ max: known_entries_max })
  // Apart, so that a flood of made-up keys can't push known ones out.
  const unknown = new LRUCache<string, Entry<Value>>({ max: unknown_entries_max })
  const loads = new Map<string, Load<Value>>()
  let away_until = Number.NEGATIVE_INFINITY

  function start(key: string): Load<Value> {
    const changed = new Set<string>()
    const answer = run(key, changed).finally(() => {
      if (loads.get(key) === running) loads.delete(key)
    })
    const running = { answer, changed, slow: false }
    loads.set(key, running)
    return running
  }

  async function run(key: string, changed: ReadonlySet<string>): Promise<Value | null> {
    let row: Row | null
    // The age of an answer counts from its query: a later change is not in it.
    const loaded_at = now()
    try {
      row = await load(key)
    } catch (error) {
      away_until = now() + retry_pause_ms
      onFailure(error)
      throw postgresUnavailable(error)
    }
    const value = row === null ? null : usable(row)
    // The answer may lack a change that came while the query ran. Requests from before the change get it, and it is kept
    // only as stale, never in place of a younger answer.
    const overtaken = value === null ? changed.size > 0 : changed.has('*') || changed.has(value.company_id ?? '*')
    if (!overtaken) keep(key, value, loaded_at, loaded_at + limits.credentials_fresh_ms)
    else if (value !== null && !known.has(key) && !unknown.has(key))
      keep(key, value, loaded_at, Number.NEGATIVE_INFINITY)
    return value
  }

  function usable(row: Row): Value {
    try {
      return toValue(row)
    } catch (cause) {
      onFailure(cause)
      throw postgresUnavailable(cause)
    }
  }

  function keep(key: string, value: Value | null, loaded_at: number, fresh_until: number): void {
    const [cache, other] = value === null ? [unknown, known] : [known, unknown]
    other.delete(key)
    const company_id = value === null ? null : value.company_id
    cache.set(key, { answer: Promise.resolve(value), company_id, loaded_at, fresh_until })
  }

  function staleAnswer(entry: Entry<Value>): Promise<Value | null> {
    onStaleAnswer()
    return entry.answer
  }

  async function reload(key: string, entry: Entry<Value> | undefined): Promise<Value | null> {
    const usableEntry = entry !== undefined && now() - entry.loaded_at < limits.credentials_stale_ms_max
    if (now() < away_until) {
      if (usableEntry) return staleAnswer(entry)
      throw postgresUnavailable()
    }
    const running = loads.get(key)
    // A load that a change has overtaken is not joined.
    const load = running !== undefined && running.changed.size === 0 ? running : start(key)
    if (!usableEntry) return load.answer
    if (load.slow) return staleAnswer(entry)
    const silent = Promise.withResolvers<void>()
    const timer = setTimeout(silent.resolve, stale_after_wait_ms)
    try {
      const first = await Promise.race([load.answer, silent.promise])
      if (first !== undefined) return first
      load.slow = true
      away_until = now() + retry_pause_ms
      return staleAnswer(entry)
    } catch {
      return staleAnswer(entry)
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    find(key) {
      const entry = known.get(key) ?? unknown.get(key)
      if (entry !== undefined && now() < entry.fresh_until) return entry.answer
      return reload(key, entry)
    },
    recall(key) {
      if (known.has(key)) return 'known'
      const entry = unknown.get(key)
      return entry !== undefined && now() < entry.fresh_until ? 'unknown' : 'unasked'
    },
    invalidate(company_id) {
      for (const { changed } of loads.values()) changed.add(company_id ?? '*')
      // Kept as stale: they are still the last known answers if PostgreSQL goes away now.
      for (const entry of known.values()) {
        if (company_id === undefined || entry.company_id === company_id) entry.fresh_until = Number.NEGATIVE_INFINITY
      }
      unknown.clear()
    },
  }
}
