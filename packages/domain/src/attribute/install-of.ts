import { type AliasFact, type Fact, type InstallFact, installEvents } from '@tributary/contracts/attribution/found'
import { limits } from '@tributary/contracts/limits'
import type { OtherInstall } from './reinstall.ts'
import { byPlace } from './verdict.ts'

/**
 * The install event that counts among the facts of one install: the first `app_install`, or the first `app_first_open`
 * while there is none (docs/rules.md#what-is-an-install). Null without any. An attribution that is stated after the first
 * install event changes nothing (docs/rules.md#stated-attribution).
 */
export function installOf(facts: readonly Fact[]): InstallFact | null {
  const events = facts.filter((fact) => fact.kind === 'install').toSorted((a, b) => byPlace(a.place, b.place))
  const install = events.toSorted((a, b) => rankOf(a) - rankOf(b))[0]
  if (install === undefined) return null
  if (install.stated === undefined || install === events[0]) return install
  const { stated: _late, ...rest } = install
  return rest
}

const rankOf = ({ event_name }: InstallFact): number => installEvents.indexOf(event_name)

/** An install as a later one of the same device or user sees it; null without an install event. */
export function otherOf(facts: readonly Fact[]): OtherInstall | null {
  const install = installOf(facts)
  if (install === null) return null
  const { installed_at_ms, place, device_hashes, user_id } = install
  return { installed_at_ms, place, device_hashes, user_id, aliases: decidingAliases(facts) }
}

/**
 * The aliases of one install that count: the earliest of each user, for the first `install_aliases_max` users. The
 * holder of an app's secret can send any number of users for one install.
 */
export function decidingAliases(facts: readonly Fact[], users_max: number = limits.install_aliases_max): AliasFact[] {
  const earliest = new Map<string, AliasFact>()
  for (const alias of facts.filter(isAlias).toSorted(byReceipt))
    if (!earliest.has(alias.user_id)) earliest.set(alias.user_id, alias)
  return [...earliest.values()].slice(0, users_max)
}

/** Those facts of one install that may decide. */
export const decidingFacts = (facts: readonly Fact[]): Fact[] => [
  ...facts.filter((fact) => !isAlias(fact)),
  ...decidingAliases(facts),
]

const byReceipt = (a: AliasFact, b: AliasFact): number =>
  a.received_at_ms - b.received_at_ms || byPlace(a.place, b.place)

export const isAlias = (fact: Fact): fact is AliasFact => fact.kind === 'alias'
