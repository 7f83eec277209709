import type { KeptClick } from '@tributary/contracts/attribution/decision'
import type { ClickToken } from '@tributary/contracts/attribution/found'
import { type Candidate, type LostReason, type Method, methods } from '@tributary/contracts/attribution/verdict'
import { clickTime } from './click-token.ts'
import { byStrength, methodOf, reasonAgainst } from './match-click.ts'
import { byInstall, type Claim, type ClickChoice, type ClickWindows, type InstallClues } from './verdict.ts'

export interface DecideInput {
  install: InstallClues
  /** Clicks of the app that may match, in any order, and perhaps others. */
  clicks: readonly KeptClick[]
  /** The earliest claim of another install on each click; several may have one until they are evaluated again. */
  claims: ReadonlyMap<string, Claim>
  windows: ClickWindows
  /** Candidates whose clicks have expired, with their earlier judgement. */
  expired: readonly Candidate[]
  /** Whether a click was erased; no install can win it. */
  isErasedClick(click_id: string): boolean
  /** False when the install has waited long enough for a signed click. */
  may_wait: boolean
}

interface Match {
  click: KeptClick
  method: Method
  reason: LostReason | null
}

/**
 * Finds the click that an install came from. The strongest method wins, and within it the latest click that was not
 * after the install. A click that an earlier install holds is lost; a click that a later install holds is free. If a
 * named signed click never comes, the install ends organic
 * (docs/decisions/attribution.md#a-signed-click-that-never-came-ends-organic).
 */
export function decide({
  install,
  clicks,
  claims,
  windows,
  expired,
  isErasedClick,
  may_wait,
}: DecideInput): ClickChoice {
  const forged = isForged(install.referrer) || isForged(install.named_click)
  const matches = clicks
    .flatMap((click) => matchClick(install, click, windows))
    .map((match) => ({ ...match, reason: match.reason ?? lostTo(install, claims.get(match.click.click_id)) }))
    .toSorted(byStrength)
  const missing = unknownClicks(install, [...clicks, ...expired], isErasedClick)
  const winner = forged ? null : findWinner(matches)
  const rank = winner === null ? methods.length : methods.indexOf(winner.method)
  const lacksSigned = !forged && missing.some(({ method, signed }) => signed && methods.indexOf(method) < rank)
  const pending = lacksSigned && may_wait
  const won = lacksSigned ? null : winner
  const candidates = matches.map((match) => toCandidate(match, won, forged, matches))
  return {
    click: won?.click ?? null,
    method: won?.method ?? null,
    pending,
    forged,
    candidates: [...missing.map(({ candidate }) => candidate), ...candidates, ...expired].toSorted(byOutcome),
  }
}

const isForged = (token: ClickToken | null): boolean => token?.signature === 'forged'

/** The strongest method by which a click matches an install; empty if it does not match. */
function matchClick(install: InstallClues, click: KeptClick, windows: ClickWindows): Match[] {
  const method = methodOf(install, click, windows)
  if (method === null) return []
  return [{ click, method, reason: reasonAgainst(install, click, method, windows) }]
}

const lostTo = (install: InstallClues, claim: Claim | undefined): LostReason | null =>
  claim !== undefined && byInstall(claim, install) < 0 ? 'click_already_used' : null

/** The first match without a fault. Clicks that match by address and belong to several partners decide nothing. */
function findWinner(matches: readonly Match[]): Match | null {
  const winner = matches.find(({ reason }) => reason === null) ?? null
  return winner !== null && isAmbiguous(winner, matches) ? null : winner
}

const isAmbiguous = (winner: Match, matches: readonly Match[]): boolean =>
  winner.method === 'probabilistic' &&
  matches.some(({ method, reason, click }) => {
    return method === 'probabilistic' && reason === null && click.partner !== winner.click.partner
  })

function toCandidate(match: Match, won: Match | null, forged: boolean, matches: readonly Match[]): Candidate {
  const { click, method } = match
  const known = { click_id: click.click_id, partner: click.partner, method, clicked_at_ms: click.clicked_at_ms }
  if (match === won) return { ...known, outcome: 'won', reason: null }
  return { ...known, outcome: 'lost', reason: match.reason ?? lostReason(match, won, forged, matches) }
}

function lostReason(match: Match, won: Match | null, forged: boolean, matches: readonly Match[]): LostReason {
  if (won !== null) return won.method === match.method ? 'older_click' : 'weaker_method'
  return !forged && isAmbiguous(match, matches) ? 'ambiguous' : 'weaker_method'
}

/** Ids that the install names and that no click has, each with the method that its click would have. */
function unknownClicks(
  install: InstallClues,
  clicks: readonly Pick<KeptClick, 'click_id'>[],
  isErasedClick: DecideInput['isErasedClick'],
) {
  const known = new Set(clicks.map(({ click_id }) => click_id))
  const { referrer, named_click } = install
  const byReferrer = referrer?.signature === 'absent' && referrer.click_id === named_click?.click_id ? null : referrer
  const byName = byReferrer?.click_id === named_click?.click_id ? null : named_click
  const named = [
    { token: byReferrer, method: 'install_referrer' as const },
    { token: byName, method: 'click_id' as const },
  ]
  return named.flatMap(({ token, method }) => {
    if (token === null || known.has(token.click_id)) return []
    const { click_id } = token
    const known_ms = { click_id, partner: null, method, clicked_at_ms: clickTime(click_id) }
    const is_erased = isErasedClick(click_id)
    const candidate: Candidate = { ...known_ms, outcome: 'lost', reason: reasonUnknown(token, method, is_erased) }
    // An erased click never comes.
    return [{ candidate, method, signed: token.signature === 'valid' && !is_erased }]
  })
}

function reasonUnknown({ signature }: ClickToken, method: Method, is_erased: boolean): LostReason {
  if (signature === 'forged') return 'bad_signature'
  if (is_erased) return 'click_already_used'
  return signature === 'absent' && method === 'install_referrer' ? 'unsigned' : 'unknown_click'
}

/** The winner, then by method and time. */
const byOutcome = (a: Candidate, b: Candidate): number =>
  Number(b.outcome === 'won') - Number(a.outcome === 'won') ||
  methods.indexOf(a.method) - methods.indexOf(b.method) ||
  b.clicked_at_ms - a.clicked_at_ms
