import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { keySet, textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { type Fact, installEvents, type Place } from '@tributary/contracts/attribution/found'
import { limits } from '@tributary/contracts/limits'
import { decidingAliases, isAlias } from '@tributary/domain/attribute/install-of'
import { factKeys, matchKey } from '@tributary/domain/attribute/match-keys'
import { byPlace } from '@tributary/domain/attribute/verdict'
import { utcDay } from '@tributary/domain/utc-day'
import { ofPartition } from './install-rows.ts'

/** The columns of an insert into `install_facts_v1`, in the order of a line. */
export const factColumns = [
  ...(['app_id', 'install_uuid', 'day', 'received_at_ms', 'kind', 'fact', 'match_keys'] as const),
  ...(['topic', 'partition', 'offset', 'event_index'] as const),
] as const

/** A line of an insert into `install_facts_v1`. */
export function factLine(fact: Fact): string {
  const { app_id, install_uuid, received_at_ms, kind, place } = fact
  const { topic, partition, offset, index } = place
  const row: Record<(typeof factColumns)[number], unknown> = {
    ...{ app_id, install_uuid, received_at_ms, kind, topic, partition, offset },
    ...{ day: utcDay(received_at_ms), fact: JSON.stringify(fact), match_keys: factKeys(fact), event_index: index },
  }
  return JSON.stringify(factColumns.map((name) => row[name]))
}

/** The facts of installs that a caller asks for. */
export interface DecidingFacts {
  /** Keys of users: of the aliases that decide, those of these users alone; of all users when absent. */
  user_keys?: readonly string[]
  /** Users read of each install beyond those that count; 0 by default. */
  users_more?: number
  /** What an erasure covers (`isGone`) is left out, and takes the place of no other. */
  markOf?: (install_uuid: string) => number | null
  /** Facts that the caller has. An install that has no others may be left out. */
  held?: readonly Fact[]
}

/** The rows of an install that are read before its facts are chosen in the engine: as many as may decide. */
const few_rows_max = limits.install_aliases_max + installEvents.length * limits.install_facts_max
/** The same where the aliases of few users are asked for: most rows of an install with more would be read for nothing. */
const few_rows_of_users_max = 10

/**
 * Facts of some installs of an app that may decide, in the order of the log: the first events of an install, and its
 * `decidingAliases`. A holder of the app's secret may send any number of them, so the engine chooses among those of an
 * install that has more than a few. Ids stand in the statement, since one with parameters waits for reports in the
 * embedded engine. Most granules are read for the id alone (PREWHERE): it is in the key of the table, so FINAL sees all
 * rows of a fact or none.
 */
export async function findDecidingFacts(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  install_uuids: readonly string[],
  { user_keys, users_more = 0, markOf = () => null }: DecidingFacts = {},
): Promise<Map<string, Fact[]>> {
  if (install_uuids.length === 0) return new Map()
  const users_max = limits.install_aliases_max + users_more
  const chosen = (uuids: readonly string[]) => {
    const marks = uuids.flatMap((id) => (markOf(id) === null ? [] : [[id, Number(markOf(id))] as const]))
    return `PREWHERE install_uuid IN (${textLiterals(uuids)})
         WHERE app_id = ${textLiteral(app_id)} ${marks.length === 0 ? '' : `AND ${livingSql(marks)}`}`
  }
  const rows_max = user_keys === undefined ? few_rows_max + users_more : few_rows_of_users_max
  const few = await selectFacts(
    clickhouse,
    `SELECT fact FROM install_facts_v1 FINAL ${chosen(install_uuids)} LIMIT ${rows_max + 1} BY install_uuid`,
  )
  const many = [...few].flatMap(([uuid, facts]) => (facts.length > rows_max ? [uuid] : []))
  const first =
    many.length === 0 ? [] : await selectFacts(clickhouse, firstFactsSql(chosen(many), users_max, user_keys))
  for (const uuid of many) few.delete(uuid)
  const wanted = user_keys === undefined ? null : new Set(user_keys)
  const isWanted = (fact: Fact) => wanted === null || !isAlias(fact) || wanted.has(matchKey('user', fact.user_id))
  const ofFew = [...few].map(([uuid, facts]) => [uuid, firstFacts(facts, users_max).filter(isWanted)] as const)
  const found = [...ofFew, ...first].filter(([, facts]) => facts.length > 0)
  return new Map(found.map(([uuid, facts]) => [uuid, facts.toSorted((a, b) => byPlace(a.place, b.place))]))
}

/** Chooses among all facts of one install as `firstFactsSql` does. */
function firstFacts(facts: readonly Fact[], users_max: number): Fact[] {
  const events = facts.filter((fact) => fact.kind === 'install').toSorted((a, b) => byPlace(a.place, b.place))
  const byName = Map.groupBy(events, ({ event_name }) => event_name)
  return [
    ...[...byName.values()].flatMap((own) => own.slice(0, limits.install_facts_max)),
    ...decidingAliases(facts, users_max),
  ]
}

/** Rows of an install that are compared with the facts of a caller: few installs have more. */
const held_rows_max = 4

/**
 * Installs that may have other facts than these. Most installs of a batch are new, and positions cost a tenth of the facts
 * with `FINAL`. Rows that stand twice cost a needless look-up at most.
 */
export async function findWithOthers(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  install_uuids: readonly string[],
  held: readonly Fact[],
): Promise<string[]> {
  const nameOf = ({ topic, partition, offset, index }: Place) => `${topic}/${partition}/${offset}/${index}`
  const names = Map.groupBy(held, ({ install_uuid }) => install_uuid)
  const compared = install_uuids.filter((uuid) => names.has(uuid))
  if (compared.length === 0) return [...install_uuids]
  const rows = await clickhouse.query<{ install_uuid: string } & Place>(
    `SELECT install_uuid, topic, partition, offset, event_index AS index FROM install_facts_v1
     PREWHERE install_uuid IN (${textLiterals(compared)}) WHERE app_id = ${textLiteral(app_id)}
     LIMIT ${held_rows_max + 1} BY install_uuid`,
  )
  const stored = Map.groupBy(rows, ({ install_uuid }) => install_uuid)
  return install_uuids.filter((uuid) => {
    const own = new Set((names.get(uuid) ?? []).map(({ place }) => nameOf(place)))
    const of = stored.get(uuid) ?? []
    return own.size === 0 || of.length > held_rows_max || of.some((row) => !own.has(nameOf(row)))
  })
}

async function selectFacts(clickhouse: Pick<Clickhouse, 'query'>, sql: string): Promise<Map<string, Fact[]>> {
  const rows = await clickhouse.query<{ fact: string }>(sql)
  return Map.groupBy(
    rows.map(({ fact }) => JSON.parse(fact) as Fact),
    ({ install_uuid }) => install_uuid,
  )
}

/** SQL of the facts of the first events of each name of an install, and of the first aliases of its first users: of these users alone. */
const firstFactsSql = (chosen: string, users_max: number, user_keys?: readonly string[]): string => `
  SELECT fact FROM (
    SELECT * FROM (
      SELECT install_uuid, kind, fact, match_keys, received_at_ms, ${placed.join(', ')}
      FROM install_facts_v1 FINAL ${chosen} AND
        if(kind = 'alias', (install_uuid, match_keys[1], received_at_ms) IN (${firstAliasesSql(chosen, users_max)}),
          (install_uuid, topic, partition, offset, event_index) IN (${firstEventsSql(chosen)}))
      ORDER BY ${ordered} LIMIT 1 BY install_uuid, if(kind = 'alias', toString(match_keys[1]), fact))
    ORDER BY ${ordered} LIMIT ${users_max} BY install_uuid, if(kind = 'alias', '', fact))
  WHERE ${user_keys === undefined ? '1' : `kind != 'alias' OR match_keys[1] IN ${keySet(user_keys)}`}`

/** SQL of `byPlace`. */
const placed = ["substringIndex(topic, '@', 1)", 'partition', 'topic', 'offset', 'event_index']

/** SQL of the order in which `decidingAliases` takes them. */
const ordered = `received_at_ms, ${placed.join(', ')}`

/**
 * SQL of the installs, users and times of the first aliases of the first users of each install; more where times are equal. The key
 * of the table begins with the install, so that memory holds the users of one at a time (`in_order`).
 */
const firstAliasesSql = (chosen: string, users_max: number): string => `
  SELECT install_uuid, first.2, first.1 FROM (
    SELECT install_uuid, minMap([match_keys[1]], [received_at_ms]) AS times,
      arraySort(arrayZip(times.2, times.1)) AS firsts, firsts[least(${users_max}, length(firsts))].1 AS last_ms
    FROM install_facts_v1 ${chosen} AND kind = 'alias' GROUP BY app_id, install_uuid ${in_order})
  ARRAY JOIN arrayFilter(one -> one.1 <= last_ms, firsts) AS first`

/** SQL of the installs and positions of the first events of each name of each install. */
const firstEventsSql = (chosen: string): string => `
  SELECT install_uuid, first.3, first.2, first.4, first.5 FROM (
    SELECT install_uuid, groupArraySorted(${limits.install_facts_max})((${placed.join(', ')})) AS firsts
    FROM install_facts_v1 ${chosen} AND kind != 'alias'
    GROUP BY app_id, install_uuid, JSONExtractString(fact, 'event_name') ${in_order})
  ARRAY JOIN firsts AS first`

const in_order = 'SETTINGS optimize_aggregation_in_order = 1, max_threads = 1'

/** SQL of what no mark of an erasure covers. */
const livingSql = (marks: readonly (readonly [install_uuid: string, mark_ms: number])[]): string => `
  least(received_at_ms, if(JSONHas(fact, 'dated_at_ms'), JSONExtractInt(fact, 'dated_at_ms'), received_at_ms)) >
    transform(install_uuid, [${marks.map(([id]) => textLiteral(id)).join(',')}], [${marks.map(([, mark_ms]) => `toInt64(${mark_ms})`).join(',')}], toInt64(-1))`

/** A row of `install_facts_v1`. */
export type FactPlace = Pick<Fact, 'app_id' | 'install_uuid'> & Place

/** Whether `install_facts_v1` has a row. It reads one granule, however large the table is. */
export async function hasFact(
  clickhouse: Pick<Clickhouse, 'query'>,
  { app_id, install_uuid, topic, partition, offset, index }: FactPlace,
): Promise<boolean> {
  const found = await clickhouse.query(
    `SELECT 1 FROM install_facts_v1
     WHERE app_id = ${textLiteral(app_id)} AND install_uuid = ${textLiteral(install_uuid)}
       AND ${ofPartition({ source: topic, partition })} AND offset = ${Number(offset)} AND event_index = ${Number(index)}
     LIMIT 1`,
  )
  return found.length > 0
}
