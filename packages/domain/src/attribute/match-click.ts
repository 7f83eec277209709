import type { KeptClick } from '@tributary/contracts/attribution/decision'
import { type Method, methods } from '@tributary/contracts/attribution/verdict'
import { limits } from '@tributary/contracts/limits'
import { matchKey } from './match-keys.ts'
import { byTime, type ClickWindows, type InstallClues } from './verdict.ts'

/** By which method a click matches an install, the strongest first; null when it does not (docs/rules.md#order-of-methods). */
export function methodOf(install: InstallClues, click: KeptClick, { probabilistic }: ClickWindows): Method | null {
  const { referrer, named_click } = install
  if (referrer?.click_id === click.click_id && referrer.signature !== 'absent') return 'install_referrer'
  if (named_click?.click_id === click.click_id) return 'click_id'
  if (click.device_hashes.some((device) => install.device_hashes.includes(device))) return 'device_id'
  if (probabilistic && isAlike(install, click)) return 'probabilistic'
  // Anybody can name a click in a referrer: without our signature it is shown, and decides nothing.
  return referrer?.click_id === click.click_id ? 'install_referrer' : null
}

type Likeness = Pick<InstallClues, 'ip' | 'os_major' | 'model'>

/** Same address and major version, and the same model where both tell it. An unknown version is like none. */
export const isAlike = (install: Likeness, click: Likeness): boolean =>
  install.ip !== null &&
  install.ip === click.ip &&
  install.os_major !== null &&
  install.os_major === click.os_major &&
  (install.model === null || click.model === null || install.model === click.model)

/** How far from the install time a click may lie, ms: from `before` on, `after` not included. */
export const candidateBounds = {
  device: { before_ms: limits.candidate_lookback_ms_max, after_ms: limits.candidate_device_after_ms },
  address: { before_ms: limits.candidate_lookback_ms_max, after_ms: limits.candidate_address_after_ms },
} as const

/** Times in which clicks with a key are candidates of an install, Unix epoch ms: `[from_ms, to_ms)`. */
export interface ClickRange {
  /** See `matchKey`. */
  match_key: string
  from_ms: number
  to_ms: number
  /** The install time: clicks up to it come first, each part from the latest on. */
  at_ms: number
}

interface Trait extends ClickRange {
  has(click: KeptClick): boolean
}

/** Where clicks may match an install by its devices or its address (docs/rules.md#candidates). */
function traitsOf(install: InstallClues, windows: ClickWindows): Trait[] {
  const { installed_at_ms: at_ms, ip, os_major } = install
  const { device: ofDevice, address: ofAddress } = candidateBounds
  const devices = install.device_hashes.map((device) => ({
    ...{ match_key: matchKey('device', device), at_ms },
    ...{ from_ms: at_ms - ofDevice.before_ms, to_ms: at_ms + ofDevice.after_ms },
    has: ({ device_hashes }: KeptClick) => device_hashes.includes(device),
  }))
  if (!windows.probabilistic || ip === null || os_major === null) return devices
  const back_ms = Math.min(windows.probabilistic_ms, ofAddress.before_ms)
  const address = {
    ...{
      match_key: matchKey('address', ip),
      at_ms,
      from_ms: at_ms - back_ms,
      to_ms: at_ms + ofAddress.after_ms,
    },
    has: (click: KeptClick) => click.ip === ip,
  }
  return [...devices, address]
}

/** The clicks to look for by a key; of each range at most `limits.install_candidates_max`. */
export const clickRanges = (install: InstallClues, windows: ClickWindows): ClickRange[] =>
  traitsOf(install, windows).map(({ match_key, from_ms, to_ms, at_ms }) => ({ match_key, from_ms, to_ms, at_ms }))

/** Click ids that the install names, signed or not. */
export const namedClicks = ({ referrer, named_click }: InstallClues): string[] => [
  ...new Set([referrer, named_click].flatMap((token) => token?.click_id ?? [])),
]

/**
 * The candidates of an install among clicks of its app, which may hold any others, each click once. A range and the whole are
 * cut at `limits.install_candidates_max`, always the same: strongest method, then those not after the install, then the latest.
 */
export function candidatesOf(install: InstallClues, clicks: readonly KeptClick[], windows: ClickWindows): KeptClick[] {
  const named = new Set(namedClicks(install))
  const found = new Set(clicks.filter(({ click_id }) => named.has(click_id)))
  const nearest = nearestTo(install.installed_at_ms)
  for (const { from_ms, to_ms, has } of traitsOf(install, windows)) {
    const inRange = clicks.filter((click) => {
      const { clicked_at_ms, filtered_reason } = click
      // Hits of honeypots block addresses, and match nothing.
      return clicked_at_ms >= from_ms && clicked_at_ms < to_ms && filtered_reason !== 'honeypot' && has(click)
    })
    for (const click of inRange.toSorted(nearest).slice(0, limits.install_candidates_max)) found.add(click)
  }
  const matched = [...found].flatMap((click) => {
    const method = methodOf(install, click, windows)
    return method === null ? [] : [{ click, method }]
  })
  return matched
    .toSorted((a, b) => methods.indexOf(a.method) - methods.indexOf(b.method) || nearest(a.click, b.click))
    .slice(0, limits.install_candidates_max)
    .map(({ click }) => click)
}

/** Clicks not after a time before those after it, each part from the latest on. */
export const nearestTo =
  (at_ms: number) =>
  (a: Pick<KeptClick, 'clicked_at_ms' | 'click_id'>, b: Pick<KeptClick, 'clicked_at_ms' | 'click_id'>): number =>
    Number(a.clicked_at_ms > at_ms) - Number(b.clicked_at_ms > at_ms) ||
    b.clicked_at_ms - a.clicked_at_ms ||
    Number(b.click_id > a.click_id) - Number(b.click_id < a.click_id)

/** Strongest method first, then the latest click. */
export const byStrength = (a: { click: KeptClick; method: Method }, b: { click: KeptClick; method: Method }): number =>
  methods.indexOf(a.method) - methods.indexOf(b.method) ||
  byTime({ at_ms: b.click.clicked_at_ms, place: b.click.place }, { at_ms: a.click.clicked_at_ms, place: a.click.place })
