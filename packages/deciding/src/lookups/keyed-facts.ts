import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { keySet, textLiteral } from '@tributary/clickhouse/literals'
import { type InstallRange, type KeyedFact, key_facts_max } from './lookups.ts'

/** Keys of one statement. */
const keys_max = 10_000

/** Facts of an app by their keys, each exactly within one of the ranges that are given for its key. */
export async function findKeyedFacts(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  ranges: readonly InstallRange[],
  of_key_max = key_facts_max,
): Promise<KeyedFact[]> {
  const byKey = [...Map.groupBy(ranges, ({ match_key }) => match_key)]
  const found: KeyedFact[] = []
  for (let at = 0; at < byKey.length; at += keys_max) {
    const part = new Map(byKey.slice(at, at + keys_max))
    for (const row of await clickhouse.query<KeyedFact>(ofKeys(app_id, part, of_key_max))) {
      if (part.get(row.match_key)!.some((range) => isWithin(row, range))) found.push(row)
    }
  }
  return found
}

/** Times of the statement are those of all ranges together. */
function ofKeys(app_id: string, byKey: ReadonlyMap<string, readonly InstallRange[]>, of_key_max: number): string {
  const ranges = [...byKey.values()].flat()
  const from_ms = ranges.reduce((ms, { received_from_ms = 0 }) => Math.min(ms, received_from_ms), far_ms)
  const to_ms = ranges.reduce((ms, { received_to_ms = far_ms }) => Math.max(ms, received_to_ms), 0)
  return `SELECT toString(match_key) AS match_key, install_uuid, received_at_ms
    FROM install_fact_keys_v1 AS k
    PREWHERE k.match_key IN ${keySet(byKey.keys())}
    WHERE app_id = ${textLiteral(app_id)}
      AND received_at_ms >= ${from_ms} AND received_at_ms < ${to_ms}
    GROUP BY k.match_key, install_uuid, received_at_ms
    ORDER BY received_at_ms DESC LIMIT ${of_key_max} BY k.match_key`
}

/** A time beyond every time that an event may have. */
const far_ms = 8e15

const isWithin = ({ received_at_ms: at_ms }: KeyedFact, range: InstallRange): boolean =>
  at_ms >= (range.received_from_ms ?? 0) && at_ms < (range.received_to_ms ?? far_ms)
