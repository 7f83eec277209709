import type { AliasFact, Fact, InstallFact } from '@tributary/contracts/attribution/found'
import { hour_ms } from '@tributary/contracts/limits'
import { addressNetwork } from '@tributary/contracts/networks'
import { burst_installs_max } from '@tributary/domain/attribute/fraud'
import { installOf } from '@tributary/domain/attribute/install-of'
import { matchKey } from '@tributary/domain/attribute/match-keys'
import { byTime, type Crowds } from '@tributary/domain/attribute/verdict'
import { firstIndex } from '@tributary/domain/first-index'
import { createPauses } from '@tributary/service-kit/service/pauses'
import { loadCrowds } from './crowds.ts'
import type { InstallRange, KeyedFact, Lookups } from './lookups/lookups.ts'

/** Installs of a network before one that are opened to count those that count: more than enough for the flag. */
const opened_max = 4 * burst_installs_max
/** The newest of them are opened first, as nearly all count. */
const opened_first = Math.ceil(1.25 * burst_installs_max)

/** Facts of one user that are looked at for its aliases: of a user with more, each install is one of many anyway. */
const user_facts_max = 200

type AllFacts = ReadonlyMap<string, readonly Fact[]>

/** Other installs that have something in common with those of a batch. */
export interface Neighbours {
  /** Facts of the installs of the batch, and of neighbours. */
  facts: AllFacts
  /** The nearest installs before an install event by a device or a user, and those who named the user. */
  sharingBefore(install: InstallFact): string[]
  /** The nearest installs after these facts, and those who named the user. */
  sharingAfter(...facts: readonly Fact[]): string[]
  /** The crowded keys of an install event of the batch. */
  crowdsOf(install: InstallFact): Crowds
  /** Installs that see other clicks by a key now that these facts of the batch are before them. */
  pushedBy(added: readonly Fact[]): string[]
  /** SDK installs of the same network received in the hour up to an install and before it; exact up to what the flag needs. */
  before(install: InstallFact): number
  /** Installs received within the hour after an SDK install event of the same network whose hour may be full. */
  after(install: InstallFact): string[]
}

/** Loads the neighbours of the installs whose facts these are, and of what was one. */
export async function findNeighbours(
  lookups: Lookups,
  app_id: string,
  own: AllFacts,
  pushedOut: readonly AliasFact[],
): Promise<Neighbours> {
  const facts = [...own.values()].flat()
  const networkKey = createNetworkKeys()
  const users = [...new Set([...facts, ...pushedOut].flatMap(userKeys))].map((match_key) => ({ match_key }))
  const [crowds, ofUsers, networks] = await Promise.all([
    loadCrowds(lookups, app_id, facts),
    lookups.installs(app_id, users, user_facts_max),
    lookups.installs(
      app_id,
      facts.flatMap((fact) => networkRange(fact, networkKey)),
    ),
  ])
  const byUser = Map.groupBy(ofUsers, ({ match_key }) => match_key)
  const ofAlias = (fact: Fact): string[] =>
    userKeys(fact).flatMap((key) => (byUser.get(key) ?? []).map(({ install_uuid }) => install_uuid))
  const before = (fact: Fact) => [...(fact.kind === 'install' ? crowds.before(fact) : []), ...ofAlias(fact)]
  const after = (fact: Fact) => [...(fact.kind === 'install' ? crowds.after(fact) : []), ...ofAlias(fact)]
  const inNetwork = Map.groupBy(networks, ({ match_key }) => match_key)
  for (const rows of inNetwork.values()) rows.sort((a, b) => a.received_at_ms - b.received_at_ms)
  const nearest = ({ install_uuid, ip, received_at_ms }: Pick<InstallFact, 'install_uuid' | 'ip' | 'received_at_ms'>) =>
    newestBefore(inNetwork.get(networkKey(ip!)) ?? [], received_at_ms, install_uuid)
  const pause = createPauses()
  const others = new Set<string>()
  const bursting: { install: InstallFact; inHour: readonly string[] }[] = []
  for (const of of own.values()) {
    await pause()
    for (const fact of of) for (const id of [...before(fact), ...after(fact)]) if (!own.has(id)) others.add(id)
    const install = installOf(of)
    if (install === null || !isJudged(install)) continue
    const inHour = nearest(install)
    if (inHour.length < burst_installs_max) continue
    bursting.push({ install, inHour })
    for (const id of inHour.slice(0, opened_first)) if (!own.has(id)) others.add(id)
  }
  for (const id of pushedOut.flatMap(after)) if (!own.has(id)) others.add(id)
  // An alias of a neighbour makes a reinstall of an install of the batch that names its user, and nothing else.
  const user_keys = [...new Set(facts.flatMap((fact) => (fact.kind === 'install' ? userKeys(fact) : [])))]
  const all = new Map([...own, ...(await lookups.facts(app_id, [...others], { user_keys }))])
  const countBefore = (install: InstallFact, uuids: readonly string[]) => {
    let count = 0
    for (const id of uuids) {
      if (isBefore(all.get(id), install, networkKey)) count += 1
      if (count === burst_installs_max) break
    }
    return count
  }
  const older = new Set<string>()
  for (const { install, inHour } of bursting) {
    await pause()
    if (countBefore(install, inHour) === burst_installs_max) continue
    for (const id of inHour) if (!all.has(id)) older.add(id)
  }
  for (const [id, of] of await lookups.facts(app_id, [...older], { user_keys })) all.set(id, of)
  return {
    facts: all,
    sharingBefore: (install) => [...new Set(before(install))],
    sharingAfter: (...given) => [...new Set(given.flatMap(after))],
    crowdsOf: crowds.of,
    pushedBy: crowds.pushedBy,
    before(install) {
      if (!isJudged(install)) return 0
      const uuids = nearest(install)
      return uuids.length < burst_installs_max ? uuids.length : countBefore(install, uuids)
    },
    after(install) {
      if (!isJudged(install)) return []
      const rows = inNetwork.get(networkKey(install.ip!)) ?? []
      const from = firstFrom(rows, install.received_at_ms)
      // An install with as many between has a full hour without this one.
      const later = rows.slice(from, firstFrom(rows, install.received_at_ms + hour_ms)).slice(0, opened_max)
      return later.flatMap(({ install_uuid, received_at_ms }) => {
        const [first, end] = hourBounds(rows, received_at_ms)
        return end - first > burst_installs_max ? install_uuid : []
      })
    },
  }
}

const isJudged = ({ is_sdk, ip }: InstallFact): boolean => is_sdk && ip !== null
type NetworkKeys = (ip: string) => string

/** Keys of networks, each worked out once: it costs a hash. */
function createNetworkKeys(): NetworkKeys {
  const known = new Map<string, string>()
  return (ip) => {
    const key = known.get(ip) ?? matchKey('network', addressNetwork(ip))
    known.set(ip, key)
    return key
  }
}

const userKeys = ({ user_id }: Fact): string[] => (user_id === null ? [] : [matchKey('user', user_id)])

/** An hour on both sides: `(t - 1 h, t]` of each install that the fact may make fuller. */
function networkRange(fact: Fact, networkKey: NetworkKeys): InstallRange[] {
  if (fact.kind === 'alias' || !isJudged(fact)) return []
  const { received_at_ms: at_ms } = fact
  const range = { received_from_ms: at_ms - hour_ms + 1, received_to_ms: at_ms + hour_ms }
  return [{ match_key: networkKey(fact.ip!), ...range }]
}

/** Index of the first row received at this time or later. */
const firstFrom = (rows: readonly KeyedFact[], at_ms: number): number =>
  firstIndex(rows, ({ received_at_ms }) => received_at_ms >= at_ms)

/** Where the rows of `(t - 1 h, t]` begin and end. */
const hourBounds = (rows: readonly KeyedFact[], at_ms: number): [number, number] => [
  firstFrom(rows, at_ms - hour_ms + 1),
  firstFrom(rows, at_ms + 1),
]

/** Installs received in the hour up to a time, but one, from the newest on, at most `opened_max`. */
function newestBefore(rows: readonly KeyedFact[], at_ms: number, but: string): string[] {
  const found = new Set<string>()
  const [first, end] = hourBounds(rows, at_ms)
  for (let n = end - 1; n >= first && found.size <= opened_max; n -= 1) found.add(rows[n]!.install_uuid)
  found.delete(but)
  return [...found]
}

/** Whether the install of these facts was received from the network of another within its hour, and before it. */
function isBefore(facts: readonly Fact[] = [], install: InstallFact, networkKey: NetworkKeys): boolean {
  const other = installOf(facts)
  if (other === null || !other.is_sdk) return false
  // A blanked address was of this network: the key that found the install says so.
  if (other.ip !== null && networkKey(other.ip) !== networkKey(install.ip!)) return false
  const received = ({ received_at_ms: at_ms, place }: InstallFact) => ({ at_ms, place })
  return other.received_at_ms > install.received_at_ms - hour_ms && byTime(received(other), received(install)) < 0
}
