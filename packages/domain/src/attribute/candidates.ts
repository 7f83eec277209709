import type { Click } from '@tributary/contracts/attribution/click'
import { hour_ms } from '@tributary/contracts/limits'
import { candidateBounds, isAlike } from './match-click.ts'

/** How a click and an install found each other (`match-keys.ts`). */
export type CandidateKind = 'click' | 'device' | 'address'

/** What of an install, besides the key that it shares with a click, makes the click a candidate. */
export interface MatchedInstall {
  installed_at_ms: number
  os_major: number | null
  model: string | null
}

/** The settings of its app when the install was received. */
export interface LikenessSettings {
  probabilistic: boolean
  probabilistic_window_hours: number
}

type MatchedClick = Pick<Click, 'clicked_at_ms' | 'ip' | 'os_major' | 'model'>

/**
 * Whether a click is a candidate of an install with which it shares a key of this kind: the record of the install shows it
 * (docs/rules.md#candidates). A click that the install names is one at any time.
 */
export function isCandidate(
  kind: CandidateKind,
  install: MatchedInstall,
  click: MatchedClick,
  settings: LikenessSettings | null,
): boolean {
  if (kind === 'click') return true
  const { before_ms, after_ms } = candidateBounds[kind]
  const earlier_ms = install.installed_at_ms - click.clicked_at_ms
  if (earlier_ms > before_ms || earlier_ms <= -after_ms) return false
  if (kind === 'device') return true
  if (settings === null || !settings.probabilistic) return false
  const within = earlier_ms <= settings.probabilistic_window_hours * hour_ms
  return within && isAlike({ ...install, ip: click.ip }, click)
}
