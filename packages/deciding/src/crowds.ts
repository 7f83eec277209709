import type { Fact, InstallFact, Place } from '@tributary/contracts/attribution/found'
import { limits } from '@tributary/contracts/limits'
import { clueKeys, crowdOf, isCrowdedAt, rankOf } from '@tributary/domain/attribute/crowds'
import { deviceKeys, matchKey } from '@tributary/domain/attribute/match-keys'
import { byInstall, byPlace, type Crowds } from '@tributary/domain/attribute/verdict'
import type { KeyFact, KeyFacts } from '@tributary/tables/attribution/key-facts'
import type { Lookups } from './lookups/lookups.ts'

/** The install events next to those of a batch, by key. */
export interface KeyCrowds {
  of(install: InstallFact): Crowds
  /** The nearest installs of the same device or user before it, and after it: `near_installs_max` of each key. */
  before(install: InstallFact): string[]
  after(install: InstallFact): string[]
  /** Installs that see other clicks by a key because these facts, which the batch added, are before them. */
  pushedBy(added: readonly Fact[]): string[]
}

/** Install events of a key that are looked at on one side of an install: some do not count, and would hide one that does. */
const near_installs_max = 50

const nobody: KeyFacts = { rows: [], cut: false }

/** Loads the install events with a key of these facts, which may be in the tables or not yet. */
export async function loadCrowds(lookups: Lookups, app_id: string, facts: readonly Fact[]): Promise<KeyCrowds> {
  const installs = facts.filter((fact) => fact.kind === 'install')
  const { sharedKeys, addressKeys, allKeys } = createKeys()
  const shared = new Set(installs.flatMap(sharedKeys))
  const others = new Set(installs.flatMap(allKeys).filter((key) => !shared.has(key)))
  const first_ms = installs.reduce((ms, { installed_at_ms }) => Math.min(ms, installed_at_ms), Number.POSITIVE_INFINITY)
  const from_ms = Math.max(0, first_ms - limits.crowd_window_ms)
  const [byShared, byOther] = await Promise.all([
    // The install before may lie years back: the window of reinstalls is a setting.
    lookups.lastByKey(app_id, { match_keys: [...shared], installed_from_ms: 0 }),
    lookups.lastByKey(app_id, { match_keys: [...others], installed_from_ms: from_ms }),
  ])
  const byKey = new Map([...byShared, ...byOther])
  const own = Map.groupBy(
    installs.flatMap((fact) => allKeys(fact).map((match_key) => ({ ...fact, match_key }))),
    ({ match_key }) => match_key,
  )
  for (const [key, added] of own) byKey.set(key, withRows(byKey.get(key) ?? nobody, added))

  const around = await loadAround(lookups, app_id, installs, allKeys, byKey)
  const rowsOf = (key: string, install: InstallFact) =>
    around.get(`${key}/${placeName(install)}`) ?? byKey.get(key)?.rows ?? []

  return {
    of: (install) =>
      new Map(
        allKeys(install).flatMap((key) => {
          const crowd_ms = crowdOf(rowsOf(key, install), install)
          return crowd_ms === undefined ? [] : [[key, crowd_ms]]
        }),
      ),
    before: (install) => sharedKeys(install).flatMap((key) => nearest(rowsOf(key, install), install, -1)),
    after: (install) => sharedKeys(install).flatMap((key) => nearest(rowsOf(key, install), install, 1)),
    pushedBy(added) {
      const installs = added.filter((fact) => fact.kind === 'install')
      const isAdded = createPlaces(installs)
      const addresses = new Set(installs.flatMap(addressKeys))
      // An install has the same rows as others of its key, but where it has its own.
      const lists = new Map<readonly KeyFact[], boolean>()
      for (const install of installs) {
        for (const key of allKeys(install)) {
          for (const rows of [rowsOf(key, install), byKey.get(key)?.rows ?? []]) lists.set(rows, addresses.has(key))
        }
      }
      return [...new Set([...lists].flatMap(([rows, is_address]) => pushedIn(rows, isAdded, is_address)))]
    },
  }
}

/** The rows around each install that lies before those that were read of its key, or among the first of them. */
async function loadAround(
  lookups: Lookups,
  app_id: string,
  installs: readonly InstallFact[],
  keysOf: (install: InstallFact) => string[],
  byKey: ReadonlyMap<string, KeyFacts>,
): Promise<Map<string, readonly KeyFact[]>> {
  const early = installs.flatMap((install) =>
    keysOf(install).flatMap((match_key) => {
      const { rows, cut } = byKey.get(match_key) ?? nobody
      return cut && rankOf(rows, install) < Math.max(near_installs_max, limits.crowd_facts)
        ? [{ match_key, install }]
        : []
    }),
  )
  const found = await lookups.aroundByKey(app_id, early)
  return new Map(
    early.map(({ match_key, install }, n) => {
      const { rows } = withRows({ rows: found[n]!, cut: false }, [{ ...install, match_key }])
      return [`${match_key}/${placeName(install)}`, rows]
    }),
  )
}

function nearest(rows: readonly KeyFact[], install: InstallFact, step: 1 | -1): string[] {
  const found = new Set<string>()
  for (let n = rankOf(rows, install) + step; n >= 0 && n < rows.length && found.size < near_installs_max; n += step) {
    found.add(rows[n]!.install_uuid)
  }
  return [...found]
}

/** Installs of a key that see other clicks with the added facts than without them. */
function pushedIn(rows: readonly KeyFact[], isAdded: (fact: KeyFact) => boolean, is_address: boolean): string[] {
  const found: string[] = []
  const before: number[] = []
  for (const [n, row] of rows.entries()) {
    if (isAdded(row)) continue
    const with_ms = rows[n - limits.crowd_facts]?.installed_at_ms
    const without_ms = before[before.length - limits.crowd_facts]
    before.push(row.installed_at_ms)
    if (with_ms !== undefined && with_ms !== without_ms && isSeen(row, with_ms, without_ms, is_address)) {
      found.push(row.install_uuid)
    }
  }
  return found
}

/** Whether it makes a difference to an install that the crowd of a key comes later. */
function isSeen({ installed_at_ms }: KeyFact, with_ms: number, without_ms: number | undefined, is_address: boolean) {
  const [crowded, was] = [isCrowdedAt(installed_at_ms, with_ms), isCrowdedAt(installed_at_ms, without_ms)]
  if (crowded !== was) return true
  // A device or a click id that stays crowded matches nothing.
  return (is_address || !crowded) && installed_at_ms - with_ms <= limits.candidate_lookback_ms_max
}

const placeName = ({ place }: { place: Place }): string =>
  [place.topic, place.partition, place.offset, place.index].join('/')

/** Whether a fact is one of these. */
export function createPlaces(facts: readonly { place: Place }[]): (fact: { place: Place }) => boolean {
  const names = new Set(facts.map(placeName))
  return (fact) => names.has(placeName(fact))
}

/** The engine may show the facts of a batch a moment later, and a batch may hold one twice. Those before a cut list stay out. */
function withRows({ rows, cut }: KeyFacts, added: readonly KeyFact[]): KeyFacts {
  const within = cut ? added.filter((row) => byInstall(rows[0] ?? row, row) <= 0) : added
  const all = [...rows, ...within].toSorted(byInstall)
  return { rows: all.filter((row, n) => n === 0 || byPlace(all[n - 1]!.place, row.place) !== 0), cut }
}

/** The keys of install events, each worked out once: a key costs a hash. */
function createKeys() {
  const known = new Map<InstallFact, { shared: string[]; addresses: string[]; all: string[] }>()
  const keysOf = (install: InstallFact) => {
    const found = known.get(install)
    if (found !== undefined) return found
    const { own, addresses } = clueKeys(install)
    const users = install.user_id === null ? [] : [matchKey('user', install.user_id)]
    const shared = [...deviceKeys(install), ...users]
    const keys = { shared, addresses, all: [...new Set([...own, ...shared, ...addresses])] }
    known.set(install, keys)
    return keys
  }
  return {
    sharedKeys: (install: InstallFact) => keysOf(install).shared,
    addressKeys: (install: InstallFact) => keysOf(install).addresses,
    allKeys: (install: InstallFact) => keysOf(install).all,
  }
}
