import type { KeptClick } from '@tributary/contracts/attribution/decision'
import { day_ms, hour_ms, limits } from '@tributary/contracts/limits'

/** How a click and an install found each other (`match-keys.ts`). */
export type CandidateKind = 'click' | 'device' | 'address'

/** Times, Unix epoch ms: `[from_ms, to_ms)`. */
export interface Times {
  from_ms: number
  to_ms: number
}

/** The settings of matching by address when the install was received. */
export interface LikenessSettings {
  probabilistic: boolean
  probabilistic_window_hours: number
}

/** How far from the install time a click may lie, ms: from `before` on, `after` not included. */
export const candidateBounds = {
  device: { before_ms: limits.candidate_lookback_ms_max, after_ms: limits.candidate_device_after_ms },
  address: { before_ms: limits.candidate_lookback_ms_max, after_ms: limits.candidate_address_after_ms },
} as const

/** The times of clicks that may be candidates of an install; null when none may be one (docs/rules.md#candidates). */
export function candidateTimes(
  kind: 'device' | 'address',
  installed_at_ms: number,
  settings: LikenessSettings | null,
): Times | null {
  const { before_ms, after_ms } = candidateBounds[kind]
  const to_ms = installed_at_ms + after_ms
  if (kind === 'device') return { from_ms: installed_at_ms - before_ms, to_ms }
  if (settings === null || !settings.probabilistic) return null
  // Clicks of one more day before the window are shown: they lose as `outside_window`.
  const shown_ms = settings.probabilistic_window_hours * hour_ms + day_ms
  return { from_ms: installed_at_ms - Math.min(shown_ms, before_ms), to_ms }
}

/**
 * Whether a click may be a candidate of an install with which it shares a key of this kind. A click that the install
 * names may have any time. Of the clicks after the install only the earliest are candidates: see `nearestClicks`.
 */
export function isCandidate(
  kind: CandidateKind,
  { installed_at_ms }: { installed_at_ms: number },
  { clicked_at_ms }: Pick<KeptClick, 'clicked_at_ms'>,
  settings: LikenessSettings | null,
): boolean {
  if (kind === 'click') return true
  const times = candidateTimes(kind, installed_at_ms, settings)
  return times !== null && clicked_at_ms >= times.from_ms && clicked_at_ms < times.to_ms
}

/** How long before an install a click may lie to win. */
export interface MatchWindow {
  /** Window of clicks whose link has none of its own. */
  window_ms: number
  /** The longest window that a link may set. */
  window_ms_max: number
}

/** The window of a click, ms: that of its link, within bounds (docs/rules.md#windows). */
export const windowOf = (
  { lookback_hours }: Pick<KeptClick, 'lookback_hours'>,
  { window_ms, window_ms_max }: MatchWindow,
): number => Math.min(lookback_hours === null ? window_ms : lookback_hours * hour_ms, window_ms_max)

/**
 * The clicks of one key that an install sees. Before the install these are the latest clicks that may win and, apart
 * from them, the latest that can't. After it these are the earliest clicks. Once there are enough clicks after an
 * install, further ones change nothing. Clicks that can't win never push out clicks that can.
 */
export function nearestClicks<
  C extends Pick<KeptClick, 'clicked_at_ms' | 'click_id' | 'filtered_reason' | 'lookback_hours'>,
>(clicks: readonly C[], range: MatchWindow & { at_ms: number }): C[] {
  const { at_ms } = range
  const before = clicks.filter(({ clicked_at_ms }) => clicked_at_ms <= at_ms).toSorted(nearestTo(at_ms))
  const after = clicks.filter(({ clicked_at_ms }) => clicked_at_ms > at_ms).toSorted(nearestTo(at_ms))
  const mayWin = (click: C) => click.filtered_reason === null && at_ms - click.clicked_at_ms < windowOf(click, range)
  return [
    ...before.filter(mayWin).slice(0, limits.install_candidates_max),
    ...before.filter((click) => !mayWin(click)).slice(0, limits.candidates_lost_max),
    ...after.toReversed().slice(0, limits.candidates_after_max),
  ]
}

/** Sorts clicks up to a time before clicks after it, each part from the latest on. */
export const nearestTo =
  (at_ms: number) =>
  (a: Pick<KeptClick, 'clicked_at_ms' | 'click_id'>, b: Pick<KeptClick, 'clicked_at_ms' | 'click_id'>): number =>
    Number(a.clicked_at_ms > at_ms) - Number(b.clicked_at_ms > at_ms) ||
    b.clicked_at_ms - a.clicked_at_ms ||
    Number(b.click_id > a.click_id) - Number(b.click_id < a.click_id)
