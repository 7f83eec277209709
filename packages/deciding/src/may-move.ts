import type { Decision } from '@tributary/contracts/attribution/decision'
import type { Windows } from '@tributary/contracts/attribution/verdict'
import { hour_ms, limits } from '@tributary/contracts/limits'

/**
 * Whether other windows may give an install another verdict, while all other installs keep theirs (docs/attribution.md#what-if). It says
 * yes rather than no: the window of a link, which outranks that of the app, is not among the candidates.
 */
export const mayMove = (install: Decision, next: Windows): boolean =>
  mayMoveClick(install, next) || mayMoveReinstall(install, next)

/** So many candidates hide others, and other windows show others. */
export const mayHide = (candidates: Decision['candidates']): boolean =>
  candidates.length >= Math.min(limits.candidates_lost_max, limits.install_candidates_max)

/** A click that won may leave the window, and one that lost outside of it may enter it. All other candidates keep their order. */
function mayMoveClick({ installed_at_ms, windows, candidates }: Decision, next: Windows): boolean {
  const isOther = (name: 'click_hours' | 'probabilistic_hours') => next[name] !== windows[name]
  if (!isOther('click_hours') && !isOther('probabilistic_hours')) return false
  if (mayHide(candidates)) return true
  return candidates.some(({ method, clicked_at_ms, outcome, reason }) => {
    const name = method === 'probabilistic' ? 'probabilistic_hours' : 'click_hours'
    if (!isOther(name)) return false
    const is_within = installed_at_ms - clicked_at_ms < (next[name] ?? 0) * hour_ms
    return is_within ? reason === 'outside_window' : outcome === 'won'
  })
}

/** A longer window makes more reinstalls, and a shorter one fewer. */
function mayMoveReinstall({ verdict, windows }: Decision, { reinstall_days }: Windows): boolean {
  if (verdict === null || reinstall_days === windows.reinstall_days) return false
  return verdict.reinstall === reinstall_days < windows.reinstall_days
}
