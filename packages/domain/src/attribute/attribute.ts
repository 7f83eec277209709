import type { Decision, KeptClick } from '@tributary/contracts/attribution/decision'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import type { StatedAttribution } from '@tributary/contracts/attribution/stated'
import {
  type Candidate,
  type FraudFlag,
  imported,
  type LostReason,
  organic,
  type Verdict,
  type Windows,
} from '@tributary/contracts/attribution/verdict'
import { day_ms, hour_ms, limits } from '@tributary/contracts/limits'
import { hasCrowdedKey, withCrowds } from './crowds.ts'
import { decide } from './decide.ts'
import type { Attributed } from './decisions.ts'
import { burst_installs_max, flagsOf } from './fraud.ts'
import { candidatesOf, recallLikeness } from './match-click.ts'
import { clickKeys } from './match-keys.ts'
import { isReinstall, type OtherInstall } from './reinstall.ts'
import { byPlace, type Claim, type ClickChoice, type ClickWindows, type Crowds, rule_version } from './verdict.ts'

/** All that a decision depends on. */
export interface AttributeInput {
  install: InstallFact
  /** Clicks of the app that were found and are not erased. Some may not match. */
  clicks: readonly KeptClick[]
  /** The earliest claim of another install on each click. */
  claims: ReadonlyMap<string, Claim>
  /** Installs of the same device or user, and perhaps others. */
  others: readonly OtherInstall[]
  windows: Windows
  /** Whether a click was erased: an install that names it loses it, and no other install finds it. */
  isErasedClick(click_id: string): boolean
  /** Whether the source of a click flooded on the day of the click. */
  isFlooded(click: KeptClick): boolean
  datacenter: boolean
  blocked: boolean
  /** See `FraudEvidence`. */
  neighbours_before: number
  crowds: Crowds
  /** The newest decision of the install. It keeps facts that the tables no longer hold. */
  newest: Decision | null
  /** Retention has deleted the clicks before it; 0 when none (docs/privacy.md#retention). */
  clicks_deleted_before_ms: number
  now_ms: number
}

/**
 * Flags that an install keeps after their evidence has expired or changed (docs/rules.md#fraud-flags). `install_burst`
 * stays once the address was blanked.
 */
const lastingFlags = ['datacenter_ip', 'blocked_ip'] as const satisfies readonly FraudFlag[]

/**
 * Decides an install with all its reasons. Same input, same output; `now_ms` counts only while a click that we signed is not
 * there yet (docs/rules.md#windows).
 */
export function attribute(input: AttributeInput): Attributed {
  const { install, newest, windows } = input
  if (install.stated !== undefined) return imports(input, install.stated)
  const seen = withCrowds(install, input.crowds)
  const { clues, clicks: found } = recallLikeness(seen, withKept(input.clicks, newest, input.isErasedClick), newest)
  const clickWindows = clickWindowsOf(windows)
  const candidates = candidatesOf(clues, found, clickWindows)
  const may_wait = input.now_ms < install.received_at_ms + limits.pending_ms_max
  const expired = expiredOf(input, found).slice(0, limits.install_candidates_max - candidates.length)
  const { claims, isErasedClick } = input
  const choice = decide({
    ...{ install: clues, clicks: candidates, claims, windows: clickWindows, expired, isErasedClick, may_wait },
  })
  return {
    ...aboutInstall(input),
    pending: choice.pending,
    verdict: choice.pending ? null : verdictOf(input, choice),
    clicked_at_ms: choice.click?.clicked_at_ms ?? null,
    candidates: choice.candidates,
    clicks: keepClicks(candidates, choice),
  }
}

/** An attribution that a backend states decides: no click is a candidate, and none is claimed (docs/rules.md#stated-attribution). */
function imports(input: AttributeInput, stated: StatedAttribution): Attributed {
  const { partner, source } = stated
  const dimension = (name: 'campaign' | 'ad_group' | 'creative' | `sub${1 | 2 | 3 | 4 | 5}`) =>
    partner === organic ? null : stated[name] || null
  const verdict: Verdict = {
    ...{ partner, attribution_type: imported, source },
    ...{ campaign: dimension('campaign'), ad_group: dimension('ad_group'), creative: dimension('creative') },
    ...{ link_id: null, click_id: null, ext_click_id: null },
    ...{ sub1: dimension('sub1'), sub2: dimension('sub2'), sub3: dimension('sub3') },
    ...{ sub4: dimension('sub4'), sub5: dimension('sub5') },
    reinstall: isReinstall(input.install, input.others, input.windows.reinstall_days * day_ms),
    fraud_flags: [],
  }
  return {
    ...aboutInstall(input, stated.country),
    pending: false,
    verdict,
    clicked_at_ms: null,
    candidates: [],
    clicks: [],
  }
}

/** The fields of a decision that its verdict does not change. */
function aboutInstall({ install, newest, windows }: AttributeInput, stated_country?: string | null) {
  const { company_id, app_id, install_uuid, installed_at_ms, received_at_ms, dated_at_ms, place } = install
  // What the job filled in stays, whatever fact is read.
  const country = stated_country || (install.country ?? newest?.country)
  return {
    ...{ v: 1 as const, company_id, app_id, install_uuid, installed_at_ms, received_at_ms, place },
    ...{ rule_version, windows },
    ...(dated_at_ms !== undefined && { dated_at_ms }),
    ...(country !== undefined && { country }),
  }
}

/** The windows of an install: those of its first verdict, else those that are set for the time when it was received. */
export function windowsOf(
  install: InstallFact,
  newest: Decision | null,
  settingsAt: (received_at_ms: number) => WindowSettings,
): Windows {
  if (newest !== null && byPlace(newest.place, install.place) === 0) return newest.windows
  const settings = settingsAt(install.received_at_ms)
  return {
    click_hours: settings.click_window_hours,
    probabilistic_hours: settings.probabilistic ? settings.probabilistic_window_hours : null,
    reinstall_days: settings.reinstall_days,
  }
}

/** The settings of an app that set its windows. */
export interface WindowSettings {
  click_window_hours: number
  probabilistic: boolean
  probabilistic_window_hours: number
  reinstall_days: number
}

/** Windows in the form in which clicks are matched. */
export const clickWindowsOf = ({ click_hours, probabilistic_hours }: Windows): ClickWindows => ({
  click_ms: click_hours * hour_ms,
  probabilistic: probabilistic_hours !== null,
  probabilistic_ms: (probabilistic_hours ?? 0) * hour_ms,
})

/**
 * The found clicks, and the clicks that have expired since the newest decision, without those that were erased since.
 */
export function withKept(
  clicks: readonly KeptClick[],
  newest: Decision | null,
  isErasedClick: (click_id: string) => boolean,
): readonly KeptClick[] {
  if (newest === null || newest.clicks.length === 0) return clicks
  const found = new Set(clicks.map(({ click_id }) => click_id))
  return [...clicks, ...newest.clicks.filter(({ click_id }) => !found.has(click_id) && !isErasedClick(click_id))]
}

function verdictOf(input: AttributeInput, choice: ClickChoice): Verdict {
  const { install, others, windows } = input
  const { click, method } = choice
  return {
    partner: click?.partner ?? organic,
    attribution_type: method ?? organic,
    campaign: click?.campaign ?? null,
    link_id: click?.link_id ?? null,
    click_id: click?.click_id ?? null,
    ext_click_id: click?.ext_click_id ?? null,
    sub1: click?.sub1 ?? null,
    sub2: click?.sub2 ?? null,
    sub3: click?.sub3 ?? null,
    sub4: click?.sub4 ?? null,
    sub5: click?.sub5 ?? null,
    reinstall: isReinstall(install, others, windows.reinstall_days * day_ms),
    fraud_flags: fraudFlagsOf(input, choice),
  }
}

function fraudFlagsOf({ install, newest, ...seen }: AttributeInput, choice: ClickChoice): FraudFlag[] {
  const isSame = newest !== null && byPlace(newest.place, install.place) === 0
  const kept = (isSame && newest.verdict?.fraud_flags) || []
  const [datacenter, blocked] = lastingFlags.map((flag) => kept.includes(flag))
  return flagsOf(install, choice, {
    ...install,
    flooded: choice.click !== null && seen.isFlooded(choice.click),
    datacenter: seen.datacenter || datacenter === true,
    blocked: seen.blocked || blocked === true,
    crowded: hasCrowdedKey(install, seen.crowds),
    neighbours_before:
      install.ip === null && kept.includes('install_burst') ? burst_installs_max : seen.neighbours_before,
  })
}

/** Lost candidates of the newest decision whose clicks the tables no longer hold. They keep their reasons. */
function expiredOf(input: AttributeInput, found: readonly KeptClick[]): Candidate[] {
  const { install, newest, clicks_deleted_before_ms, now_ms, isErasedClick } = input
  if (newest === null || byPlace(newest.place, install.place) !== 0) return []
  const known = new Set(found.map(({ click_id }) => click_id))
  // Tables drop whole days.
  const before_ms = Math.max(clicks_deleted_before_ms, now_ms - limits.click_kept_ms + day_ms)
  return newest.candidates.filter(({ click_id, method, clicked_at_ms, outcome, reason }) => {
    // An install whose address is gone finds no click by it.
    if (isErasedClick(click_id)) return false
    const isOut = clicked_at_ms < before_ms || (method === 'probabilistic' && install.ip === null)
    return outcome === 'lost' && reason !== 'unknown_click' && isOut && !known.has(click_id)
  })
}

/** Reasons that may pass: the click may win when the install is decided again. */
const passingReasons: readonly (LostReason | null)[] = [
  'click_already_used',
  'older_click',
  'weaker_method',
  'ambiguous',
]

/** The winner and the best clicks that may win later, within bounds, because their texts come from strangers. */
function keepClicks(candidates: readonly KeptClick[], choice: ClickChoice): KeptClick[] {
  const outcomes = new Map(choice.candidates.map((candidate) => [candidate.click_id, candidate]))
  const mayWin = candidates.filter((click) => {
    return click !== choice.click && passingReasons.includes(outcomes.get(click.click_id)!.reason)
  })
  let left = limits.kept_clicks_bytes_max
  return (
    [...(choice.click === null ? [] : [choice.click]), ...mayWin]
      .slice(0, limits.kept_clicks_max)
      // Decisions outlive addresses (docs/privacy.md#retention).
      .map((click) => ({ ...click, ip: '', user_agent: '', match_keys: clickKeys(click) }))
      .filter((click, n) => {
        left -= Buffer.byteLength(JSON.stringify(click))
        return left >= 0 || (n === 0 && choice.click !== null)
      })
  )
}
