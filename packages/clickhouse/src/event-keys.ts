import type { Clickhouse } from './clickhouse.ts'

/** One question: does this app hold this key on one of these key days? */
export interface EventKeyLookup {
  app_id: string
  /** Unsigned 64-bit decimal. */
  event_key: string
  /** `YYYY-MM-DD`. */
  key_days: readonly string[]
}

/** A key that is stored, and the log position that wrote it. */
export interface StoredEventKey {
  app_id: string
  key_day: string
  event_key: string
  topic: string
  partition: number
  offset: number
}

/** Of one statement: larger ones save work, and 40 000 apps, keys and all days since 2010 stay below `statement_bytes_max`. */
const lookups_max = 40_000

const shapes = {
  app_id: /^[A-Za-z0-9_-]{1,64}$/,
  key_day: /^\d{4}-\d\d-\d\d$/,
  event_key: /^\d{1,20}$/,
} as const

/**
 * The keys that `event_keys_v1` holds; a key looked up or written more than once may come more than once. Throws a
 * TypeError for a lookup of another shape: the values stand in the statement as literals, since only constant sets use
 * the primary key (measured: clickhouse/README.md).
 */
export async function findEventKeys(
  clickhouse: Clickhouse,
  lookups: readonly EventKeyLookup[],
): Promise<StoredEventKey[]> {
  const rows: StoredEventKey[] = []
  // In the order of the table's key each of several statements reads a range of its own.
  const ordered = lookups.length > lookups_max ? lookups.toSorted(byKeyOrder) : lookups
  for (let at = 0; at < ordered.length; at += lookups_max) {
    rows.push(...(await clickhouse.query<StoredEventKey>(statement(ordered.slice(at, at + lookups_max)))))
  }
  if (rows.length === 0) return rows
  // Three independent sets match more than was asked (a key on another asked day): the exact answer is made here.
  const asked = new Set(lookups.flatMap((lookup) => lookup.key_days.map((key_day) => identity({ ...lookup, key_day }))))
  return rows.filter((row) => asked.has(identity(row)))
}

const identity = ({ app_id, key_day, event_key }: Pick<StoredEventKey, 'app_id' | 'key_day' | 'event_key'>): string =>
  `${app_id}/${key_day}/${event_key}`

const byKeyOrder = (a: EventKeyLookup, b: EventKeyLookup): number =>
  compare(a.app_id, b.app_id) || compare(a.key_days[0] ?? '', b.key_days[0] ?? '')
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Keys stand in one text that is cast to an array: thousands of single literals cost the parser 2 us each. */
function statement(lookups: readonly EventKeyLookup[]): string {
  const apps = new Set<string>()
  const days = new Set<string>()
  for (const { app_id, key_days } of lookups) {
    apps.add(app_id)
    for (const day of key_days) days.add(day)
  }
  const keys = lookups.map(({ event_key }) => checked('event_key', event_key)).join(',')
  return `
  SELECT app_id, toString(key_day) AS key_day, toString(event_key) AS event_key, topic, partition, offset
  FROM event_keys_v1
  WHERE app_id IN (${quoted('app_id', apps)})
    AND event_keys_v1.key_day IN (${quoted('key_day', days)})
    AND event_keys_v1.event_key IN CAST('[${keys}]', 'Array(UInt64)')`
}

const quoted = (column: keyof typeof shapes, values: Set<string>): string =>
  [...values].map((value) => `'${checked(column, value)}'`).join(',')

function checked(column: keyof typeof shapes, value: string): string {
  if (!shapes[column].test(value)) throw new TypeError(`${column} of an event key has another shape`)
  return value
}
