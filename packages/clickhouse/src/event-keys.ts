import type { Clickhouse } from './clickhouse.ts'

/** One question: does this app hold this key on this key day? The caller lists neighbouring days itself. */
export interface EventKeyAsk {
  app_id: string
  /** `YYYY-MM-DD`. */
  key_day: string
  /** Unsigned 64-bit decimal. */
  event_key: string
}

/** A key that is stored, and the log position that wrote it. */
export interface StoredEventKey extends EventKeyAsk {
  topic: string
  partition: number
  offset: number
}

/** Servers parse at most 256 KiB of statement by default; this leaves room for what is not a literal. */
const literal_bytes_max = 200 * 1024

const shapes = {
  app_id: /^[A-Za-z0-9_-]{1,64}$/,
  key_day: /^\d{4}-\d\d-\d\d$/,
  event_key: /^\d{1,20}$/,
} as const

/**
 * The asked keys that `event_keys_v1` holds; a key written more than once comes more than once. Throws a TypeError for
 * an ask of another shape: the values stand in the statement as literals, since only a literal set uses the primary
 * key (measured: docs in clickhouse/README.md).
 */
export async function findEventKeys(clickhouse: Clickhouse, asks: readonly EventKeyAsk[]): Promise<StoredEventKey[]> {
  const wanted = new Set(asks.map(identity))
  const found: StoredEventKey[] = []
  for (const sql of lookups(asks)) {
    // Three independent sets match more than was asked (a key on another asked day): the exact answer is made here.
    for (const row of await clickhouse.query<StoredEventKey>(sql)) {
      if (wanted.has(identity(row))) found.push(row)
    }
  }
  return found
}

const identity = ({ app_id, key_day, event_key }: EventKeyAsk): string => `${app_id}/${key_day}/${event_key}`

/** Statements for asks in the order of the table's key, so that each reads a range of its own. */
function* lookups(asks: readonly EventKeyAsk[]): Generator<string> {
  const sorted = asks.toSorted((a, b) => compare(a.app_id, b.app_id) || compare(a.key_day, b.key_day))
  let sets = emptySets()
  let literal_bytes = 0
  for (const ask of sorted) {
    for (const column of columns) {
      const value = ask[column]
      if (sets[column].has(value)) continue
      if (!shapes[column].test(value)) throw new TypeError(`${column} of an event key has another shape`)
      sets[column].add(value)
      literal_bytes += value.length + 3
    }
    if (literal_bytes < literal_bytes_max) continue
    yield statement(sets)
    sets = emptySets()
    literal_bytes = 0
  }
  if (literal_bytes > 0) yield statement(sets)
}

const columns = ['app_id', 'key_day', 'event_key'] as const
type Sets = Record<(typeof columns)[number], Set<string>>
const emptySets = (): Sets => ({ app_id: new Set(), key_day: new Set(), event_key: new Set() })

const statement = (sets: Sets): string => `
  SELECT app_id, toString(key_day) AS key_day, toString(event_key) AS event_key, topic, partition, offset
  FROM event_keys_v1
  WHERE app_id IN (${quoted(sets.app_id)})
    AND event_keys_v1.key_day IN (${quoted(sets.key_day)})
    AND event_keys_v1.event_key IN (${[...sets.event_key].join(',')})`

const quoted = (values: Set<string>): string => [...values].map((value) => `'${value}'`).join(',')
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
