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

/** Of one statement; far inside `statement_bytes_max`. Larger statements save work until here (measured). */
const literal_bytes_max = 1024 * 1024

const shapes = {
  app_id: /^[A-Za-z0-9_-]{1,64}$/,
  key_day: /^\d{4}-\d\d-\d\d$/,
  event_key: /^\d{1,20}$/,
} as const

/**
 * The asked keys that `event_keys_v1` holds; a key written more than once comes more than once. Throws a TypeError for
 * an ask of another shape: the values stand in the statement as literals, since only sets of literals use the primary
 * key (measured: clickhouse/README.md).
 */
export async function findEventKeys(clickhouse: Clickhouse, asks: readonly EventKeyAsk[]): Promise<StoredEventKey[]> {
  const rows: StoredEventKey[] = []
  for (const sql of lookups(asks)) rows.push(...(await clickhouse.query<StoredEventKey>(sql)))
  if (rows.length === 0) return rows
  // Three independent sets match more than was asked (a key on another asked day): the exact answer is made here.
  const asked = new Set(asks.map(identity))
  return rows.filter((row) => asked.has(identity(row)))
}

const identity = ({ app_id, key_day, event_key }: EventKeyAsk): string => `${app_id}/${key_day}/${event_key}`

/** A key of an app and all days it is asked for. */
interface KeyGroup {
  app_id: string
  event_key: string
  days: string[]
}

/** Statements in the order of the table's key, so that each reads a range of its own; each key stands in one of them. */
function* lookups(asks: readonly EventKeyAsk[]): Generator<string> {
  let sets = emptySets()
  let literal_bytes = 0
  const add = (column: keyof Sets, value: string) => {
    if (sets[column].has(value)) return
    if (!shapes[column].test(value)) throw new TypeError(`${column} of an event key has another shape`)
    sets[column].add(value)
    literal_bytes += value.length + 3
  }
  for (const { app_id, event_key, days } of groupByKey(asks)) {
    add('app_id', app_id)
    add('event_key', event_key)
    for (const day of days) add('key_day', day)
    if (literal_bytes < literal_bytes_max) continue
    yield statement(sets)
    sets = emptySets()
    literal_bytes = 0
  }
  if (literal_bytes > 0) yield statement(sets)
}

/** In the order of app and first day. */
function groupByKey(asks: readonly EventKeyAsk[]): KeyGroup[] {
  const groups = new Map<string, KeyGroup>()
  for (const { app_id, key_day, event_key } of asks) {
    const name = app_id + event_key
    const group = groups.get(name)
    if (group === undefined) groups.set(name, { app_id, event_key, days: [key_day] })
    else group.days.push(key_day)
  }
  return [...groups.values()].sort((a, b) => compare(a.app_id, b.app_id) || compare(a.days[0]!, b.days[0]!))
}

interface Sets {
  app_id: Set<string>
  key_day: Set<string>
  event_key: Set<string>
}
const emptySets = (): Sets => ({ app_id: new Set(), key_day: new Set(), event_key: new Set() })

const statement = (sets: Sets): string => `
  SELECT app_id, toString(key_day) AS key_day, toString(event_key) AS event_key, topic, partition, offset
  FROM event_keys_v1
  WHERE app_id IN (${quoted(sets.app_id)})
    AND event_keys_v1.key_day IN (${quoted(sets.key_day)})
    AND event_keys_v1.event_key IN (${[...sets.event_key].join(',')})`

const quoted = (values: Set<string>): string => [...values].map((value) => `'${value}'`).join(',')
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
