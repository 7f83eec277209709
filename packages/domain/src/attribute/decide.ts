import { type ClickToken, clickTime } from './click-token.ts'
import {
  byTime,
  type Candidate,
  type Claim,
  type Click,
  type Decision,
  type InstallFacts,
  type LostReason,
  type Method,
  methods,
  type Windows,
} from './verdict.ts'

export interface DecideInput {
  install: InstallFacts
  /** Clicks of the app that may match, in any order, perhaps with others that do not. */
  clicks: readonly Click[]
  /** The earliest claim of another install on each click; several may have one until they are evaluated again. */
  claims: ReadonlyMap<string, Claim>
  windows: Windows
  /** False when a signed click id was waited for long enough. */
  may_wait: boolean
}

interface Match {
  click: Click
  method: Method
  reason: LostReason | null
}

/**
 * Which click an install came from. The strongest method wins, within it the latest click that was not after the
 * install; a click that an earlier install holds is lost, one that a later install holds is free.
 */
export function decide({ install, clicks, claims, windows, may_wait }: DecideInput): Decision {
  const forged = isForged(install.referrer) || isForged(install.named_click)
  const matches = clicks
    .flatMap((click) => matchClick(install, click, windows))
    .map((match) => ({ ...match, reason: match.reason ?? lostTo(install, claims.get(match.click.click_id)) }))
    .toSorted(byStrength)
  const missing = unknownClicks(install, clicks)
  const winner = forged ? null : findWinner(matches)
  const rank = winner === null ? methods.length : methods.indexOf(winner.method)
  const pending = !forged && may_wait && missing.some(({ method, signed }) => signed && methods.indexOf(method) < rank)
  const won = pending ? null : winner
  const candidates = matches.map((match) => toCandidate(match, won, forged, matches))
  return {
    click: won?.click ?? null,
    method: won?.method ?? null,
    pending,
    forged,
    candidates: [...missing.map(({ candidate }) => candidate), ...candidates].toSorted(byOutcome),
  }
}

const isForged = (token: ClickToken | null): boolean => token?.signature === 'forged'

/** How a click matches an install, by its strongest method; nothing when it does not. */
function matchClick(install: InstallFacts, click: Click, windows: Windows): Match[] {
  const method = methodOf(install, click, windows)
  if (method === null) return []
  return [{ click, method, reason: reasonAgainst(install, click, method, windows) }]
}

function methodOf(install: InstallFacts, click: Click, windows: Windows): Method | null {
  const { referrer, named_click } = install
  if (referrer?.click_id === click.click_id && referrer.signature !== 'absent') return 'install_referrer'
  if (named_click?.click_id === click.click_id) return 'click_id'
  if (click.device_hashes.some((device) => install.device_hashes.includes(device))) return 'device_id'
  if (windows.probabilistic && isAlike(install, click)) return 'probabilistic'
  // Anybody can name a click in a referrer: without our signature it is shown, and decides nothing.
  return referrer?.click_id === click.click_id ? 'install_referrer' : null
}

/** Same address and major version, and the same model where both tell it. An unknown version is like none. */
const isAlike = (install: InstallFacts, click: Click): boolean =>
  install.ip !== null &&
  install.ip === click.ip &&
  install.os_major !== null &&
  install.os_major === click.os_major &&
  (install.model === null || click.model === null || install.model === click.model)

/** Why a click can't be the one, whatever other clicks and installs there are. */
function reasonAgainst(install: InstallFacts, click: Click, method: Method, windows: Windows): LostReason | null {
  if (method === 'install_referrer' && install.referrer?.signature === 'forged') return 'bad_signature'
  if (method === 'install_referrer' && install.referrer?.signature === 'absent') return 'unsigned'
  if (method === 'click_id' && install.named_click?.signature === 'forged') return 'bad_signature'
  if (click.filtered_reason !== null) return 'filtered'
  if (click.clicked_at_ms > install.installed_at_ms) return 'after_install'
  const usual_ms = method === 'probabilistic' ? windows.probabilistic_ms : windows.deterministic_ms
  const window_ms =
    method === 'probabilistic' ? Math.min(usual_ms, click.lookback_ms ?? usual_ms) : (click.lookback_ms ?? usual_ms)
  return install.installed_at_ms - click.clicked_at_ms < window_ms ? null : 'outside_window'
}

const lostTo = (install: InstallFacts, claim: Claim | undefined): LostReason | null =>
  claim !== undefined && byTime(inTime(claim), inTime(install)) < 0 ? 'click_already_used' : null

const inTime = ({ installed_at_ms, place }: Claim) => ({ at_ms: installed_at_ms, place })

/** Strongest method first, then the latest click. */
const byStrength = (a: Match, b: Match): number =>
  methods.indexOf(a.method) - methods.indexOf(b.method) ||
  byTime({ at_ms: b.click.clicked_at_ms, place: b.click.place }, { at_ms: a.click.clicked_at_ms, place: a.click.place })

/** The first match that nothing speaks against; alike clicks of more than one partner tell nothing. */
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

/** Click ids that the install names and that no click has. */
function unknownClicks(install: InstallFacts, clicks: readonly Click[]) {
  const known = new Set(clicks.map(({ click_id }) => click_id))
  const named = [
    { token: install.referrer, method: 'install_referrer' as const },
    { token: install.named_click, method: 'click_id' as const },
  ]
  return named.flatMap(({ token, method }) => {
    if (token === null || known.has(token.click_id)) return []
    const { click_id } = token
    const known_ms = { click_id, partner: null, method, clicked_at_ms: clickTime(click_id) }
    const candidate: Candidate = { ...known_ms, outcome: 'lost', reason: reasonUnknown(token, method) }
    return [{ candidate, method, signed: token.signature === 'valid' }]
  })
}

function reasonUnknown({ signature }: ClickToken, method: Method): LostReason {
  if (signature === 'forged') return 'bad_signature'
  return signature === 'absent' && method === 'install_referrer' ? 'unsigned' : 'unknown_click'
}

/** The winner, then by method and time. */
const byOutcome = (a: Candidate, b: Candidate): number =>
  Number(b.outcome === 'won') - Number(a.outcome === 'won') ||
  methods.indexOf(a.method) - methods.indexOf(b.method) ||
  b.clicked_at_ms - a.clicked_at_ms
