import type { Decision, KeptClick } from '@tributary/contracts/attribution/decision'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import { clickKeys } from './match-keys.ts'
import { byPlace } from './verdict.ts'

/** Stands for an address that is not stored any more. No address is spelled like it. */
const forgotten = 'forgotten'

/**
 * An install whose address retention has blanked is alike the clicks that the newest decision of the same install event found
 * by the address, and no others. Gives the install and the clicks in a form in which `isAlike` says so.
 */
export function recallLikeness(
  install: InstallFact,
  clicks: readonly KeptClick[],
  newest: Decision | null,
): { clues: InstallFact; clicks: readonly KeptClick[] } {
  const unchanged = { clues: install, clicks }
  if (install.ip !== null || newest === null || byPlace(newest.place, install.place) !== 0) return unchanged
  const byAddress = newest.candidates.filter(({ method }) => method === 'probabilistic')
  const alike = new Set(byAddress.map(({ click_id }) => click_id))
  if (alike.size === 0) return unchanged
  return {
    clues: { ...install, ip: forgotten },
    clicks: clicks.map((click) =>
      alike.has(click.click_id) ? { ...click, ip: forgotten, match_keys: clickKeys(click) } : click,
    ),
  }
}
