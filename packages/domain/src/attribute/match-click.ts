import type { Decision, KeptClick } from '@tributary/contracts/attribution/decision'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import { type LostReason, type Method, methods } from '@tributary/contracts/attribution/verdict'
import { hour_ms, limits } from '@tributary/contracts/limits'
import { candidateTimes, type MatchWindow, nearestClicks, nearestTo, type Times, windowOf } from './candidates.ts'
import { isCrowded, isHiddenClick } from './crowds.ts'
import { addressKey, clickKeys, matchKey, modelsFor } from './match-keys.ts'
import { byPlace, byTime, type ClickWindows, type InstallClues } from './verdict.ts'

/** The strongest method by which a click matches an install; null for none (docs/rules.md#order-of-methods). */
export function methodOf(install: InstallClues, click: KeptClick, { probabilistic }: ClickWindows): Method | null {
  const { referrer, named_click } = install
  if (referrer?.click_id === click.click_id && referrer.signature !== 'absent') return 'install_referrer'
  if (named_click?.click_id === click.click_id) return 'click_id'
  if (click.device_hashes.some((device) => install.device_hashes.includes(device))) return 'device_id'
  if (probabilistic && isAlike(install, click)) return 'probabilistic'
  // Anybody can name a click in a referrer. Without our signature the click is shown and decides nothing.
  return referrer?.click_id === click.click_id ? 'install_referrer' : null
}

/** Why a click can't win, whatever other clicks and installs there are. */
export function reasonAgainst(
  install: InstallClues,
  click: KeptClick,
  method: Method,
  windows: ClickWindows,
): LostReason | null {
  if (method === 'install_referrer' && install.referrer?.signature === 'forged') return 'bad_signature'
  if (method === 'install_referrer' && install.referrer?.signature === 'absent') return 'unsigned'
  if (method === 'click_id' && install.named_click?.signature === 'forged') return 'bad_signature'
  if (click.filtered_reason !== null) return 'filtered'
  if (click.clicked_at_ms > install.installed_at_ms) return 'after_install'
  return install.installed_at_ms - click.clicked_at_ms < windowOf(click, windowFor(method, windows))
    ? null
    : 'outside_window'
}

/** The window of a link never widens the window of matches by address. */
const windowFor = (method: Method, { click_ms, probabilistic_ms }: ClickWindows): MatchWindow =>
  method === 'probabilistic'
    ? { window_ms: probabilistic_ms, window_ms_max: probabilistic_ms }
    : { window_ms: click_ms, window_ms_max: Number.MAX_SAFE_INTEGER }

type Likeness = Pick<InstallClues, 'ip' | 'os_major' | 'model'>

/** The keys of a click replace an address that was blanked. */
const hasAddress = (click: Pick<KeptClick, 'ip' | 'match_keys'>, ip: string, os_major: number): boolean =>
  click.ip === '' ? click.match_keys?.includes(addressKey(ip, os_major)) === true : click.ip === ip

/** Same address and major version, and the same model if both have one. An unknown version matches nothing. */
export const isAlike = (
  install: Likeness,
  click: Pick<KeptClick, 'ip' | 'os_major' | 'model' | 'match_keys'>,
): boolean =>
  install.ip !== null &&
  install.os_major !== null &&
  install.os_major === click.os_major &&
  hasAddress(click, install.ip, install.os_major) &&
  (install.model === null || click.model === null || install.model === click.model)

/** Times in which clicks with a key are candidates of an install. */
export interface ClickRange extends Times, MatchWindow {
  /** See `match-keys.ts`. */
  match_key: string
  /** The install time: see `nearestClicks`. */
  at_ms: number
}

interface Trait extends ClickRange {
  matches(click: KeptClick): boolean
}

/** The keys and times of clicks that may match an install by its devices or its address (docs/rules.md#candidates). */
function traitsOf(install: InstallClues, windows: ClickWindows): Trait[] {
  const { installed_at_ms: at_ms, ip, os_major, model } = install
  const { probabilistic, probabilistic_ms } = windows
  const settings = { probabilistic, probabilistic_window_hours: probabilistic_ms / hour_ms }
  // Crowded devices are not among them: see `withCrowds`.
  const devices = install.device_hashes.map((device) => {
    const match_key = matchKey('device', device)
    const times = seenTimes(install, match_key, candidateTimes('device', at_ms, settings)!)
    return {
      ...{ match_key, at_ms, ...times, ...windowFor('device_id', windows) },
      matches: ({ device_hashes }: KeptClick) => device_hashes.includes(device),
    }
  })
  const times = candidateTimes('address', at_ms, settings)
  if (times === null || ip === null || os_major === null) return devices
  const alike = modelsFor(model).map((one) => {
    const match_key = addressKey(ip, os_major, one)
    return {
      ...{ match_key, at_ms, ...seenTimes(install, match_key, times), ...windowFor('probabilistic', windows) },
      matches: (click: KeptClick) => isAlike(install, click) && (one === undefined || click.model === one),
    }
  })
  return [...devices, ...alike]
}

/**
 * Whether an install sees a click: the first installs after a click see it, and those before it that are not in a crowd
 * (docs/rules.md#how-far-a-click-is-seen).
 */
function seenTimes(install: InstallClues, match_key: string, { from_ms, to_ms }: Times): Times {
  const crowd_ms = install.crowds?.get(match_key)
  return {
    from_ms: crowd_ms === undefined ? from_ms : Math.max(from_ms, crowd_ms + 1),
    to_ms: isCrowded(install, match_key) ? Math.min(to_ms, install.installed_at_ms + 1) : to_ms,
  }
}

/** The clicks to look for by a key; `nearestClicks` says which ones of each range. */
export const clickRanges = (install: InstallClues, windows: ClickWindows): ClickRange[] =>
  traitsOf(install, windows).map(({ matches, ...range }) => range)

/** Click ids that the install names, signed or not, and that no crowd hides from it. */
export function namedClicks(install: InstallClues): string[] {
  const named = [install.referrer, install.named_click].flatMap((token) => token?.click_id ?? [])
  return [...new Set(named)].filter((click_id) => !isHiddenClick(install, click_id))
}

/**
 * The candidates of an install among clicks of its app, each click once. The given clicks may hold others too. Of each
 * range the nearest clicks are taken, in all at most `limits.install_candidates_max`, and among them at most
 * `limits.candidates_lost_max` that can't win. Both kinds are cut by method, then clicks not after the install come
 * first, then the latest. The result does not depend on the order of arrival.
 */
export function candidatesOf(install: InstallClues, clicks: readonly KeptClick[], windows: ClickWindows): KeptClick[] {
  const named = new Set(namedClicks(install))
  const found = new Set(clicks.filter(({ click_id }) => named.has(click_id)))
  for (const { matches, ...range } of traitsOf(install, windows)) {
    const inRange = clicks.filter((click) => {
      const { clicked_at_ms, filtered_reason } = click
      // Hits of honeypots block addresses, and match nothing.
      return (
        clicked_at_ms >= range.from_ms &&
        clicked_at_ms < range.to_ms &&
        filtered_reason !== 'honeypot' &&
        matches(click)
      )
    })
    for (const click of nearestClicks(inRange, range)) found.add(click)
  }
  const nearest = nearestTo(install.installed_at_ms)
  const matched = [...found]
    .flatMap((click) => {
      const method = methodOf(install, click, windows)
      return method === null ? [] : [{ click, method }]
    })
    .toSorted((a, b) => methods.indexOf(a.method) - methods.indexOf(b.method) || nearest(a.click, b.click))
  const canWin = ({ click, method }: (typeof matched)[number]) =>
    reasonAgainst(install, click, method, windows) === null
  const lost = matched.filter((one) => !canWin(one)).slice(0, limits.candidates_lost_max)
  const open = matched.filter(canWin).slice(0, limits.install_candidates_max - lost.length)
  const kept = new Set([...lost, ...open])
  return matched.filter((one) => kept.has(one)).map(({ click }) => click)
}

/** Strongest method first, then the latest click. */
export const byStrength = (a: { click: KeptClick; method: Method }, b: { click: KeptClick; method: Method }): number =>
  methods.indexOf(a.method) - methods.indexOf(b.method) ||
  byTime({ at_ms: b.click.clicked_at_ms, place: b.click.place }, { at_ms: a.click.clicked_at_ms, place: a.click.place })

/** Replaces an address that is no longer stored. No address is spelled like it. */
const forgotten = 'forgotten'

/**
 * If retention has blanked the address of an install, the install is alike only the clicks that the newest decision of
 * the same install event found by the address. Gives the install and the clicks in a form in which `isAlike` says so.
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
