import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { findClicks } from '@tributary/tables/attribution/clicks'
import { findDecidingFacts, findWithOthers } from '@tributary/tables/attribution/facts'
import { findAround, findFirstByKey, findLastByKey } from '@tributary/tables/attribution/key-facts'
import { findClaims, findNewest } from '@tributary/tables/attribution/verdicts'
import { findClickKeys } from './click-keys.ts'
import { findKeyedFacts } from './keyed-facts.ts'
import type { Flood, Lookups } from './lookups.ts'

/** Ids of one statement. */
const ids_max = 5000

/** Installs of one statement that reads facts: a sender with the secret of an app may give each of them thousands. */
const fact_ids_max = 100

/**
 * Look-ups read thousands of single granules. One thread, because sharing them out costs more. No pool of threads for reads,
 * which doubles the CPU (docs/decisions/attribution.md#look-ups-of-installs-read-in-their-own-thread). No order of the key, because merging
 * the parts row by row took three times as long.
 */
const settings = `max_threads = 1, optimize_read_in_order = 0, local_filesystem_read_method = 'pread'`

/** `Lookups` in the tables of ClickHouse. Many ids become several statements of `ids_max`. */
export function clickhouseLookups(engine: Pick<Clickhouse, 'query'>): Lookups {
  const clickhouse: Pick<Clickhouse, 'query'> = {
    query: (sql, params) => engine.query(`${sql} SETTINGS ${settings}`, params),
  }
  const clicksOf = (app_id: string, click_ids: readonly string[]) =>
    inParts(click_ids, (part) => findClicks(clickhouse, { app_id, click_ids: part }))

  return {
    async facts(app_id, ids, asked) {
      const { held = [] } = asked ?? {}
      const unknown = await inParts(ids, (part) => findWithOthers(clickhouse, app_id, part, held))
      const find = async (part: readonly string[]) => [await findDecidingFacts(clickhouse, app_id, part, asked)]
      return joined(await inParts(unknown, find, fact_ids_max))
    },
    async newest(app_id, ids) {
      const found = await inParts(ids, async (part) => [...(await findNewest(clickhouse, app_id, part))])
      return new Map(found.map(([uuid, { decision }]) => [uuid, decision]))
    },
    claims: (app_id, ids) => inParts(ids, (part) => findClaims(clickhouse, app_id, part)),
    async clicks(app_id, ids, ranges) {
      const found = await findClickKeys(clickhouse, [app_id], ranges)
      return clicksOf(app_id, [...new Set([...ids, ...found.map(({ click_id }) => click_id)])])
    },
    installs: (app_id, ranges, of_key_max) => findKeyedFacts(clickhouse, app_id, ranges, of_key_max),
    lastByKey: (app_id, keys, isLiving) => findLastByKey(clickhouse, app_id, keys, isLiving),
    aroundByKey: (app_id, keys, isLiving) => findAround(clickhouse, app_id, keys, isLiving),
    firstByKey(app_id, ranges, isLiving) {
      const ofApp = ranges.map((range) => ({ ...range, app_id }))
      return findFirstByKey(clickhouse, ofApp, isLiving)
    },
    async hits(app_ids, ranges) {
      const byApp = Map.groupBy(await findClickKeys(clickhouse, app_ids, ranges), ({ app_id }) => app_id)
      const found = [...byApp].map(([app_id, keys]) => clicksOf(app_id, [...new Set(keys.map((key) => key.click_id))]))
      return (await Promise.all(found)).flat().filter(({ filtered_reason }) => filtered_reason === 'honeypot')
    },
    async floods(app_id, days) {
      if (days.length === 0) return []
      const rows = await clickhouse.query<Flood>(
        `SELECT toString(day) AS day, partner, campaign FROM click_floods_v1 AS f FINAL
         WHERE app_id = ${textLiteral(app_id)} AND f.day IN (${textLiterals(days)}) AND flooded = 1`,
      )
      return rows.map((row) => ({ ...row, campaign: row.campaign || null }))
    },
  }
}

async function inParts<T>(
  ids: readonly string[],
  find: (part: readonly string[]) => Promise<T[]>,
  part_max = ids_max,
): Promise<T[]> {
  const found: T[] = []
  for (let at = 0; at < ids.length; at += part_max)
    for (const one of await find(ids.slice(at, at + part_max))) found.push(one)
  return found
}

const joined = <K, V>(maps: readonly ReadonlyMap<K, V>[]): Map<K, V> => new Map(maps.flatMap((map) => [...map]))
