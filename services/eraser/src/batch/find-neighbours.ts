import { findFirstByKey, type KeyRange } from '@tributary/attribution/key-facts'
import { keySet } from '@tributary/attribution/literals'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Fact } from '@tributary/contracts/attribution/found'
import { hour_ms } from '@tributary/contracts/limits'
import { addressNetwork } from '@tributary/contracts/networks'
import { candidateBounds } from '@tributary/domain/attribute/candidates'
import { clueKeys } from '@tributary/domain/attribute/crowds'
import { deviceKeys, matchKey } from '@tributary/domain/attribute/match-keys'
import type { ErasedInstall } from './batch.ts'
import type { ClickRow } from './find-rows.ts'
import { ofApp } from './sql.ts'

/** Installs of one key that are decided again. Only an attack makes more for one address or network. */
const of_key_max = 20_000

/** A key that neighbours share, and the times within which they are looked up. */
interface Range {
  match_key: string
  received_from_ms?: number
  received_to_ms?: number
  installed_from_ms?: number
  installed_to_ms?: number
}

/**
 * Installs whose verdicts may change when these facts and clicks are gone: those of the same device or user, of the same
 * network within the hour after, those that may have one of the clicks as a candidate, and those that see more by a key
 * that has one install less (docs/rules.md#how-far-a-click-is-seen). One too many is decided as before.
 */
export async function findNeighbours(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  installs: readonly ErasedInstall[],
  { facts, clicks }: { facts: readonly Fact[]; clicks: readonly ClickRow[] },
): Promise<string[]> {
  const own = new Set(installs.map(({ install_uuid }) => install_uuid))
  const ranges = [...facts.flatMap(rangesOfFact), ...clicks.flatMap(rangesOfClick)]
  const [sharing, behind] = await Promise.all([
    findWithin(clickhouse, app_id, ranges),
    findFirstByKey(clickhouse, facts.flatMap(crowdRanges), ({ install_uuid }) => !own.has(install_uuid)),
  ])
  const uuids = [...sharing, ...behind.flat()].map(({ install_uuid }) => install_uuid)
  return [...new Set(uuids)].filter((uuid) => !own.has(uuid))
}

async function findWithin(clickhouse: Pick<Clickhouse, 'query'>, app_id: string, ranges: readonly Range[]) {
  if (ranges.length === 0) return []
  const byKey = Map.groupBy(ranges, ({ match_key }) => match_key)
  const rows = await clickhouse.query<Row>(
    `SELECT toString(k.match_key) AS match_key, install_uuid, received_at_ms, installed_at_ms, kind
     FROM install_fact_keys_v1 AS k
     PREWHERE k.match_key IN ${keySet(byKey.keys())}
     WHERE ${ofApp(app_id)}
     ORDER BY received_at_ms DESC LIMIT ${of_key_max} BY k.match_key
     SETTINGS max_threads = 1`,
  )
  return rows.filter((row) => byKey.get(row.match_key)!.some((range) => isWithin(row, range)))
}

interface Row {
  match_key: string
  install_uuid: string
  received_at_ms: number
  installed_at_ms: number
  kind: string
}

function rangesOfFact(fact: Fact): Range[] {
  const users = fact.user_id === null ? [] : [{ match_key: matchKey('user', fact.user_id) }]
  if (fact.kind === 'alias') return users
  const devices = deviceKeys(fact).map((match_key) => ({ match_key }))
  if (!fact.is_sdk || fact.ip === null) return [...users, ...devices]
  const { received_at_ms: at_ms } = fact
  const hour = { received_from_ms: at_ms, received_to_ms: at_ms + hour_ms }
  return [...users, ...devices, { match_key: matchKey('network', addressNetwork(fact.ip)), ...hour }]
}

/** All installs of a device or a user are decided again anyway. */

function crowdRanges(fact: Fact): KeyRange[] {
  if (fact.kind === 'alias') return []
  const { app_id, installed_at_ms } = fact
  const { own, addresses } = clueKeys(fact)
  return [...own, ...addresses].map((match_key) => ({ app_id, match_key, installed_from_ms: installed_at_ms }))
}

function rangesOfClick({ click_id, clicked_at_ms, match_keys }: ClickRow): Range[] {
  const { before_ms, after_ms } = candidateBounds.device
  const times = { installed_from_ms: clicked_at_ms - after_ms, installed_to_ms: clicked_at_ms + before_ms }
  return [{ match_key: matchKey('click', click_id) }, ...match_keys.map((match_key) => ({ match_key, ...times }))]
}

const never_ms = Number.POSITIVE_INFINITY

/** The bounds are inclusive. An alias has no install time. */
function isWithin({ received_at_ms, installed_at_ms, kind }: Row, range: Range): boolean {
  const { received_from_ms = 0, received_to_ms = never_ms, installed_from_ms = 0, installed_to_ms = never_ms } = range
  if (received_at_ms < received_from_ms || received_at_ms > received_to_ms) return false
  return kind === 'alias' || (installed_at_ms >= installed_from_ms && installed_at_ms <= installed_to_ms)
}
