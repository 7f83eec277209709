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

/**
 * Keys of a day on which the batch has at least so many are looked up by a set of days and a set of keys, which reads nearly every granule of
 * these days. Keys of other days are looked up by tuples, or a few late events would read the whole year (docs/adr/0412). A look-up
 * counts for the first of its days, which is a neighbour of the day of most others.
 */
const keys_a_day_min = 50
/** Look-ups of one statement: larger statements save work. With three neighbouring days a key these stay below `statement_bytes_max`. */
const lookups_max = { sets: 40_000, tuples: 10_000 } as const

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
  clickhouse: Pick<Clickhouse, 'query'>,
  lookups: readonly EventKeyLookup[],
): Promise<StoredEventKey[]> {
  const rows: StoredEventKey[] = []
  for (const [how, some] of Object.entries(divide(lookups)) as [How, EventKeyLookup[]][]) {
    const max = lookups_max[how]
    // In the order of the table's key each of several statements reads a range of its own.
    const ordered = some.length > max ? some.toSorted(byKeyOrder) : some
    for (let at = 0; at < ordered.length; at += max) {
      rows.push(...(await clickhouse.query<StoredEventKey>(statement(how, ordered.slice(at, at + max)))))
    }
  }
  if (rows.length === 0) return rows
  // Sets match more than was asked (a key on another asked day): the exact answer is made here.
  const asked = new Set(lookups.flatMap((lookup) => lookup.key_days.map((key_day) => identity({ ...lookup, key_day }))))
  return rows.filter((row) => asked.has(identity(row)))
}

const identity = ({ app_id, key_day, event_key }: Pick<StoredEventKey, 'app_id' | 'key_day' | 'event_key'>): string =>
  `${app_id}/${key_day}/${event_key}`

const byKeyOrder = (a: EventKeyLookup, b: EventKeyLookup): number =>
  compare(a.app_id, b.app_id) || compare(a.key_days[0] ?? '', b.key_days[0] ?? '')
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

type How = keyof typeof lookups_max

function divide(lookups: readonly EventKeyLookup[]): Record<How, EventKeyLookup[]> {
  const keys_of = new Map<string | undefined, number>()
  for (const { key_days } of lookups) keys_of.set(key_days[0], (keys_of.get(key_days[0]) ?? 0) + 1)
  const isDense = ({ key_days }: EventKeyLookup) => keys_of.get(key_days[0])! >= keys_a_day_min
  return { sets: lookups.filter(isDense), tuples: lookups.filter((lookup) => !isDense(lookup)) }
}

/** Keys stand in one text that is cast to an array: thousands of single literals cost the parser 2 us each. */
function statement(how: How, lookups: readonly EventKeyLookup[]): string {
  const apps = new Set(lookups.map(({ app_id }) => app_id))
  return `
  SELECT app_id, toString(key_day) AS key_day, toString(event_key) AS event_key, topic, partition, offset
  FROM event_keys_v1
  WHERE app_id IN (${quoted('app_id', apps)})
    AND ${how === 'sets' ? inSets(lookups) : inTuples(lookups, apps.size > 1)}`
}

function inSets(lookups: readonly EventKeyLookup[]): string {
  const days = new Set(lookups.flatMap(({ key_days }) => key_days))
  const keys = lookups.map(({ event_key }) => checked('event_key', event_key)).join(',')
  return `event_keys_v1.key_day IN (${quoted('key_day', days)})
    AND event_keys_v1.event_key IN CAST('[${keys}]', 'Array(UInt64)')`
}

/** Without its app in the tuple, a key reads a granule of each app of the statement. With it, it costs twice as much to compare. */
function inTuples(lookups: readonly EventKeyLookup[], with_app: boolean): string {
  const tuples = lookups.flatMap(({ app_id, key_days, event_key }) => {
    const app = with_app ? `\\'${checked('app_id', app_id)}\\',` : ''
    return key_days.map((day) => `(${app}\\'${checked('key_day', day)}\\',${checked('event_key', event_key)})`)
  })
  const [columns, types] = with_app ? ['event_keys_v1.app_id, ', 'String, '] : ['', '']
  return `(${columns}event_keys_v1.key_day, event_keys_v1.event_key) IN CAST('[${tuples.join(',')}]', 'Array(Tuple(${types}Date, UInt64))')`
}

const quoted = (column: keyof typeof shapes, values: Set<string>): string =>
  [...values].map((value) => `'${checked(column, value)}'`).join(',')

function checked(column: keyof typeof shapes, value: string): string {
  if (!shapes[column].test(value)) throw new TypeError(`${column} of an event key has another shape`)
  return value
}
