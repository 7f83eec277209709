import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { keySet, textLiteral, textLiterals, unsigned } from '@tributary/clickhouse/literals'

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
 * these days. Keys of other days are looked up by tuples, or a few late events would read the whole year
 * (docs/decisions/writing.md#late-keys-are-looked-up-by-tuples). A look-up counts for the first of its days, which is a neighbour of the
 * day of most others.
 */
const keys_a_day_min = 50
/** Look-ups of one statement: larger statements save work. With three neighbouring days a key these stay below `statement_bytes_max`. */
const lookups_max = { sets: 40_000, tuples: 10_000 } as const

/**
 * The keys that `event_keys_v1` holds; a key looked up or written more than once may come more than once. Throws a
 * TypeError for a key that is no number.
 */
export async function findEventKeys(
  clickhouse: Pick<Clickhouse, 'query'>,
  lookups: readonly EventKeyLookup[],
): Promise<StoredEventKey[]> {
  const rows: StoredEventKey[] = []
  for (const [how, some] of Object.entries(divide(lookups)) as [How, EventKeyLookup[]][]) {
    const max = lookups_max[how]
    // Each of several statements reads a range of its own, because keys are in the order of the table's key.
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

function statement(how: How, lookups: readonly EventKeyLookup[]): string {
  const apps = new Set(lookups.map(({ app_id }) => app_id))
  return `
  SELECT app_id, toString(key_day) AS key_day, toString(event_key) AS event_key, topic, partition, offset
  FROM event_keys_v1
  WHERE app_id IN (${textLiterals(apps)})
    AND ${how === 'sets' ? inSets(lookups) : inTuples(lookups, apps.size > 1)}`
}

const inSets = (lookups: readonly EventKeyLookup[]): string =>
  `event_keys_v1.key_day IN (${textLiterals(lookups.flatMap(({ key_days }) => key_days))})
    AND event_keys_v1.event_key IN ${keySet(lookups.map(({ event_key }) => event_key))}`

/** A key without its app in the tuple reads a granule of each app. One with it costs twice as much to compare. */
function inTuples(lookups: readonly EventKeyLookup[], with_app: boolean): string {
  const tuples = lookups.flatMap(({ app_id, key_days, event_key }) => {
    const app = with_app ? `${textLiteral(app_id)},` : ''
    return key_days.map((day) => `(${app}${textLiteral(day)},${unsigned(event_key)})`)
  })
  const [columns, types] = with_app ? ['event_keys_v1.app_id, ', 'String, '] : ['', '']
  const set = textLiteral(`[${tuples.join(',')}]`)
  return `(${columns}event_keys_v1.key_day, event_keys_v1.event_key) IN CAST(${set}, 'Array(Tuple(${types}Date, UInt64))')`
}
