import { keySet, literals } from '@tributary/attribution/literals'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
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
    for (const row of await clickhouse.query<Row>(ofKeys(app_id, part, of_key_max))) {
      if (part.get(row.match_key)!.some((range) => isWithin(row, range))) found.push(row)
    }
  }
  return found
}

interface Row extends KeyedFact {
  installed_at_ms: number
  kind: string
}

/** Times of the statement are those of all ranges together. */
function ofKeys(app_id: string, byKey: ReadonlyMap<string, readonly InstallRange[]>, of_key_max: number): string {
  const ranges = [...byKey.values()].flat()
  const bound = (name: keyof InstallRange, least: boolean, without: number) =>
    ranges.reduce(
      (most, range) => Math[least ? 'min' : 'max'](most, Number(range[name] ?? without)),
      least ? far_ms : 0,
    )
  const installed = `installed_at_ms >= ${bound('installed_from_ms', true, 0)} AND installed_at_ms < ${bound('installed_to_ms', false, far_ms)}`
  return `SELECT toString(match_key) AS match_key, install_uuid, received_at_ms, installed_at_ms, kind
    FROM install_fact_keys_v1 AS k
    PREWHERE k.match_key IN ${keySet(byKey.keys())}
    WHERE app_id = ${literals('app_id', [app_id])}
      AND received_at_ms >= ${bound('received_from_ms', true, 0)} AND received_at_ms < ${bound('received_to_ms', false, far_ms)}
      AND (kind = 'alias' OR (${installed}))
    GROUP BY k.match_key, install_uuid, received_at_ms, installed_at_ms, kind
    ORDER BY received_at_ms DESC LIMIT ${of_key_max} BY k.match_key`
}

/** Beyond every time that an event may have. */
const far_ms = 8e15

function isWithin({ received_at_ms, installed_at_ms, kind }: Row, range: InstallRange): boolean {
  const { received_from_ms = 0, received_to_ms = far_ms, installed_from_ms = 0, installed_to_ms = far_ms } = range
  if (received_at_ms < received_from_ms || received_at_ms >= received_to_ms) return false
  return kind === 'alias' || (installed_at_ms >= installed_from_ms && installed_at_ms < installed_to_ms)
}
