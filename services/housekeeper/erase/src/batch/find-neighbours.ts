import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { keySet } from '@tributary/clickhouse/literals'
import type { Fact } from '@tributary/contracts/attribution/found'
import { hour_ms } from '@tributary/contracts/limits'
import { addressNetwork } from '@tributary/contracts/networks'
import { candidateBounds } from '@tributary/domain/attribute/candidates'
import { clueKeys } from '@tributary/domain/attribute/crowds'
import { matchKey } from '@tributary/domain/attribute/match-keys'
import { findFirstByKey, type KeyRange } from '@tributary/tables/attribution/key-facts'
import type { ErasedInstall } from './batch.ts'
import type { ClickRow } from './find-rows.ts'
import { ofApp, ofInstalls } from './sql.ts'

/** Installs of one key that are decided again. Only an attack makes more for one address or network. */
const of_key_max = 20_000

/** A key that neighbours share, and the times within which they are looked up. */
interface Range {
  match_key: string
  received_from_ms?: number
  received_to_ms?: number
}

/**
 * Installs whose verdicts may change when these facts and clicks are gone: the next ones of the same device or user, those of
 * the same network within the hour after, those that see one of the clicks, and those that see more by a key that has one
 * install less (docs/rules.md#how-far-a-click-is-seen). One too many is decided as before.
 */
export async function findNeighbours(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  installs: readonly ErasedInstall[],
  { facts, clicks }: { facts: readonly Fact[]; clicks: readonly ClickRow[] },
): Promise<string[]> {
  const own = new Set(installs.map(({ install_uuid }) => install_uuid))
  const behind = [...facts.flatMap(keysOfFact), ...clicks.flatMap(keysOfClick)]
  const [within, next] = await Promise.all([
    findWithin(clickhouse, app_id, installs, facts.flatMap(rangesOfFact)),
    findFirstByKey(
      clickhouse,
      behind.map((range) => ({ ...range, app_id })),
      undefined,
      [...own],
    ),
  ])
  const uuids = [...within, ...next.flat()].map(({ install_uuid }) => install_uuid)
  return [...new Set(uuids)].filter((uuid) => !own.has(uuid))
}

async function findWithin(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  installs: readonly ErasedInstall[],
  ranges: readonly Range[],
) {
  if (ranges.length === 0) return []
  const byKey = Map.groupBy(ranges, ({ match_key }) => match_key)
  const rows = await clickhouse.query<Row>(
    `SELECT toString(k.match_key) AS match_key, install_uuid, received_at_ms
     FROM install_fact_keys_v1 AS k
     PREWHERE k.match_key IN ${keySet(byKey.keys())}
     WHERE ${ofApp(app_id)} AND NOT (${ofInstalls(app_id, installs)})
     ORDER BY received_at_ms DESC LIMIT ${of_key_max} BY k.match_key
     SETTINGS max_threads = 1`,
  )
  return rows.filter((row) => byKey.get(row.match_key)!.some((range) => isWithin(row, range)))
}

interface Row {
  match_key: string
  install_uuid: string
  received_at_ms: number
}

/** All who share the user of an alias, which has no install time, and the hour of a network. */
function rangesOfFact(fact: Fact): Range[] {
  if (fact.kind === 'alias') return [{ match_key: matchKey('user', fact.user_id) }]
  if (!fact.is_sdk || fact.ip === null) return []
  const { received_at_ms: at_ms } = fact
  const network = matchKey('network', addressNetwork(fact.ip))
  return [{ match_key: network, received_from_ms: at_ms, received_to_ms: at_ms + hour_ms }]
}

type KeyFrom = Omit<KeyRange, 'app_id'>

function keysOfFact(fact: Fact): KeyFrom[] {
  if (fact.kind === 'alias') return []
  const { own, addresses } = clueKeys(fact)
  const users = fact.user_id === null ? [] : [matchKey('user', fact.user_id)]
  return [...own, ...users, ...addresses].map((match_key) => ({ match_key, installed_from_ms: fact.installed_at_ms }))
}

/** The first installs after a click, and after the time from which it is shown. */
function keysOfClick({ click_id, clicked_at_ms, match_keys }: ClickRow): KeyFrom[] {
  const shown_ms = Math.max(0, clicked_at_ms - candidateBounds.device.after_ms)
  const fromBoth = (match_key: string, from_ms: number) =>
    [from_ms, clicked_at_ms].map((installed_from_ms) => ({ match_key, installed_from_ms }))
  return [...fromBoth(matchKey('click', click_id), 0), ...match_keys.flatMap((key) => fromBoth(key, shown_ms))]
}

/** The bounds are inclusive. */
const isWithin = (
  { received_at_ms }: Row,
  { received_from_ms = 0, received_to_ms = Number.POSITIVE_INFINITY }: Range,
) => received_at_ms >= received_from_ms && received_at_ms <= received_to_ms
