import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { keySet, textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import type { Fact, Place } from '@tributary/contracts/attribution/found'
import { limits } from '@tributary/contracts/limits'
import { factKeys } from '@tributary/domain/attribute/match-keys'
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
}

/**
 * Of the facts of some installs of an app those that may decide, in the order of the log: the first events of an install, and
 * its `decidingAliases`. Whoever has the secret of an app may send any number of them. Ids stand in the
 * statement: in the embedded engine a statement with parameters waits for reports. The id alone is read of most granules (PREWHERE): it
 * is in the key of the table, so FINAL sees all rows of a fact or none.
 */
export async function findDecidingFacts(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  install_uuids: readonly string[],
  { user_keys, users_more = 0, markOf = () => null }: DecidingFacts = {},
): Promise<Map<string, Fact[]>> {
  if (install_uuids.length === 0) return new Map()
  const marks = install_uuids.flatMap((id) => (markOf(id) === null ? [] : [[id, Number(markOf(id))] as const]))
  const rows = await clickhouse.query<{ fact: string }>(
    `SELECT fact FROM (SELECT kind, fact, match_keys FROM (
       SELECT * FROM (
         SELECT install_uuid, kind, fact, match_keys, received_at_ms, ${placed.join(', ')},
           JSONExtractString(fact, if(kind = 'alias', 'user_id', 'event_name')) AS name
         FROM install_facts_v1 FINAL PREWHERE install_uuid IN (${textLiterals(install_uuids)})
         WHERE app_id = ${textLiteral(app_id)} ${marks.length === 0 ? '' : `AND ${livingSql(marks)}`}
         ORDER BY ${ordered} LIMIT ${limits.install_facts_max} BY install_uuid, kind, name)
       ORDER BY ${ordered} LIMIT 1 BY install_uuid, kind, if(kind = 'alias', name, fact))
     ORDER BY ${ordered} LIMIT ${limits.install_aliases_max + users_more} BY install_uuid, if(kind = 'alias', '', name))
     WHERE ${user_keys === undefined ? '1' : `kind != 'alias' OR match_keys[1] IN ${keySet(user_keys)}`}`,
  )
  const facts = rows.map(({ fact }) => JSON.parse(fact) as Fact).toSorted((a, b) => byPlace(a.place, b.place))
  return Map.groupBy(facts, ({ install_uuid }) => install_uuid)
}

/** SQL of `byPlace`. */
const placed = ["substringIndex(topic, '@', 1)", 'partition', 'topic', 'offset', 'event_index']

/** Installs by their place, aliases as `decidingAliases` orders them. */
const ordered = `if(kind = 'alias', received_at_ms, 0), ${placed.join(', ')}`

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
