import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Place } from '@tributary/contracts/attribution/found'
import { limits } from '@tributary/contracts/limits'
import type { KeyFacts } from '@tributary/domain/attribute/crowds'
import { byInstall } from '@tributary/domain/attribute/verdict'
import { keySet, literals } from './literals.ts'

type Query = Pick<Clickhouse, 'query'>

/** An install event that has a key. */
export interface KeyFact {
  app_id: string
  /** A result of `matchKey`. */
  match_key: string
  install_uuid: string
  received_at_ms: number
  installed_at_ms: number
  place: Place
}

/** Install events with a key, from a time on. */
export interface KeyRange {
  app_id: string
  match_key: string
  installed_from_ms: number
}

/** Keys of one statement. */
const keys_max = 5000
/** Facts of one key that are read at first: few keys have as many. */
const quiet_facts_max = 2 * limits.crowd_facts
/** Facts that are read of a busier one: those of a batch, all of one key, and as many before or behind them. */
const key_facts_max = 2000
/** Busy keys of one statement: whoever parses the answer holds others up. */
const busy_keys_max = 2
/** Facts of one range that is read by itself, some of which may be erased. */
const range_facts_max = 4 * limits.crowd_facts
const ranges_max = 50

/**
 * Install events of an app by key, from the earliest on: of each key the latest `key_facts_max` by install time, and none before
 * a time. Those of erased lives are left out by `isLiving`.
 */
export async function findLastByKey(
  clickhouse: Query,
  app_id: string,
  { match_keys, installed_from_ms }: { match_keys: readonly string[]; installed_from_ms: number },
  isLiving: (fact: KeyFact) => boolean = () => true,
): Promise<Map<string, KeyFacts<KeyFact>>> {
  const known = await readKeys(match_keys, (keys, facts_max) =>
    clickhouse.query<Row>(
      `${select(keys, [app_id], installed_from_ms)} ORDER BY ${installOrder('DESC')} LIMIT ${facts_max} BY key`,
    ),
  )
  return new Map(
    [...Map.groupBy(known, ({ match_key }) => match_key)].map(([key, of]) => {
      const cut = of.length >= key_facts_max
      return [key, { rows: of.filter(isLiving).toSorted(byInstall), cut }]
    }),
  )
}

/** Reads the facts of keys, and of keys with many apart from the others. */
async function readKeys(
  match_keys: readonly string[],
  read: (match_keys: readonly string[], facts_max: number) => Promise<Row[]>,
): Promise<KeyFact[]> {
  const found: KeyFact[] = []
  const busy: string[] = []
  for (let at = 0; at < match_keys.length; at += keys_max) {
    const rows = await read(match_keys.slice(at, at + keys_max), quiet_facts_max)
    for (const [key, of] of Map.groupBy(rows.map(toFact), ({ match_key }) => match_key)) {
      if (of.length < quiet_facts_max) found.push(...of)
      else busy.push(key)
    }
  }
  for (let at = 0; at < busy.length; at += busy_keys_max) {
    const rows = await read(busy.slice(at, at + busy_keys_max), key_facts_max)
    for (const row of rows) found.push(toFact(row))
  }
  return found
}

/** Of each range the first `crowd_facts` install events (docs/rules.md#how-far-a-click-is-seen), but for erased ones. */
export async function findFirstByKey(
  clickhouse: Query,
  ranges: readonly KeyRange[],
  isLiving: (fact: KeyFact) => boolean = () => true,
): Promise<KeyFact[][]> {
  if (ranges.length === 0) return []
  const from_ms = Math.min(...ranges.map((range) => range.installed_from_ms))
  const keys = [...new Set(ranges.map(({ match_key }) => match_key))]
  const apps = [...new Set(ranges.map(({ app_id }) => app_id))]
  const rows = await readKeys(keys, (some, facts_max) =>
    clickhouse.query<Row>(
      `${select(some, apps, from_ms)} ORDER BY ${installOrder('ASC')} LIMIT ${facts_max} BY app_id, key`,
    ),
  )
  const known = new Map([...Map.groupBy(rows, nameOf)].map(([name, of]) => [name, of.toSorted(byInstall)] as const))
  const firstOf = (rows: readonly KeyFact[], { installed_from_ms }: KeyRange) => {
    const first: KeyFact[] = []
    for (let n = firstFrom(rows, installed_from_ms); n < rows.length && first.length < limits.crowd_facts; n += 1) {
      if (isLiving(rows[n]!)) first.push(rows[n]!)
    }
    return first
  }
  const found = ranges.map((range) => firstOf(known.get(nameOf(range)) ?? [], range))
  // Of a busy key the first rows may all be before the range.
  const short = ranges.flatMap((range, n) => {
    const isCut = (known.get(nameOf(range)) ?? []).length >= key_facts_max
    return isCut && found[n]!.length < limits.crowd_facts ? [n] : []
  })
  for (let at = 0; at < short.length; at += ranges_max) {
    const part = short.slice(at, at + ranges_max)
    const statements = part.map((n) => ofRange(ranges[n]!))
    const rows = await clickhouse.query<Row>(statements.join(' UNION ALL '))
    for (const n of part) {
      const range = ranges[n]!
      const own = rows.map(toFact).filter((row) => nameOf(row) === nameOf(range))
      found[n] = firstOf(own.toSorted(byInstall), range)
    }
  }
  return found
}

interface Row extends Omit<KeyFact, 'place' | 'match_key'>, Place {
  key: string
}

const toFact = ({ app_id, key, install_uuid, received_at_ms, installed_at_ms, ...place }: Row): KeyFact => ({
  ...{ app_id, match_key: key, install_uuid, received_at_ms, installed_at_ms, place },
})

const nameOf = ({ app_id, match_key }: Pick<KeyFact, 'app_id' | 'match_key'>): string => `${app_id}/${match_key}`

/** The key alone is read of most granules (PREWHERE). */
const select = (match_keys: readonly string[], app_ids: readonly string[], from_ms: number): string =>
  `SELECT DISTINCT app_id, toString(k.match_key) AS key, install_uuid, received_at_ms, installed_at_ms,
     topic, partition, offset, event_index AS index
   FROM install_fact_keys_v1 AS k PREWHERE k.match_key IN ${keySet(match_keys)}
   WHERE app_id IN (${literals('app_id', app_ids)}) AND kind = 'install' AND installed_at_ms >= ${Number(from_ms)}`

/** SQL of `byInstall`. */
const installOrder = (way: 'ASC' | 'DESC'): string =>
  ['installed_at_ms', "substringIndex(topic, '@', 1)", 'partition', 'topic', 'offset', 'index']
    .map((column) => `${column} ${way}`)
    .join(', ')

/** Index of the first row installed at this time or later. */
function firstFrom(rows: readonly KeyFact[], at_ms: number): number {
  let [low, high] = [0, rows.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (rows[middle]!.installed_at_ms < at_ms) low = middle + 1
    else high = middle
  }
  return low
}

const ofRange = ({ app_id, match_key, installed_from_ms }: KeyRange): string =>
  `SELECT * FROM (${select([match_key], [app_id], installed_from_ms)} ORDER BY ${installOrder('ASC')} LIMIT ${range_facts_max})`
