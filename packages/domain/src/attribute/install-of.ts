import { type AliasFact, type Fact, type InstallFact, installEvents } from '@tributary/contracts/attribution/found'
import type { OtherInstall } from './reinstall.ts'
import { byPlace } from './verdict.ts'

/**
 * The install event that counts among the facts of one install: the first `app_install`, until there is one the first
 * `app_first_open` (docs/rules.md#what-is-an-install); null without any.
 */
export function installOf(facts: readonly Fact[]): InstallFact | null {
  const events = facts.filter((fact) => fact.kind === 'install')
  return events.toSorted((a, b) => rankOf(a) - rankOf(b) || byPlace(a.place, b.place))[0] ?? null
}

const rankOf = ({ event_name }: InstallFact): number => installEvents.indexOf(event_name)

/** What an install is to a later one of the same device or user; null when it is none. */
export function otherOf(facts: readonly Fact[]): OtherInstall | null {
  const install = installOf(facts)
  if (install === null) return null
  const { installed_at_ms, place, device_hashes, user_id } = install
  return { installed_at_ms, place, device_hashes, user_id, aliases: facts.filter(isAlias) }
}

const isAlias = (fact: Fact): fact is AliasFact => fact.kind === 'alias'
