import type { WhatIf, WhatIfSettings } from '@tributary/contracts/admin/rows/what-if'
import type { Decision } from '@tributary/contracts/attribution/decision'
import type { Verdict, Windows } from '@tributary/contracts/attribution/verdict'
import type { Lookups } from '@tributary/deciding/lookups/lookups'
import { whatIf } from '@tributary/deciding/what-if'
import { windowsOf } from '@tributary/domain/attribute/attribute'
import fc from 'fast-check'
import { type Story, story, type tell } from '../model/arrivals.ts'
import { app_id, hour_ms, t0 } from '../model/story.ts'
import { bruteForce, settingsAt } from '../model/world.ts'

/** A window with all installs. */
export const everything = { since_ms: 0, until_ms: Number.MAX_SAFE_INTEGER }
export type Window = typeof everything

/** Settings of the app while its installs are decided. */
export const held = fc.record({
  click_window_hours: fc.constantFrom(1, 3, 10, 24, 168),
  probabilistic: fc.constantFrom(true, true, false),
  probabilistic_window_hours: fc.constantFrom(5, 24),
  reinstall_days: fc.constantFrom(1, 90),
})
/** Settings of a what-if. */
export const settings = fc.record(
  {
    click_window_hours: fc.constantFrom(1, 3, 10, 24, 720),
    probabilistic: fc.constant<'false'>('false'),
    reinstall_days: fc.constantFrom(1, 90, 3650),
  },
  { requiredKeys: [] },
)
const hour = fc.integer({ min: 0, max: 46 }).map((n) => t0 + n * hour_ms)
export const windows = fc.oneof(
  fc.constant(everything),
  fc.tuple(hour, hour).map(([since_ms, until_ms]) => ({ since_ms, until_ms })),
)

/** Stories of few clicks that many installs may have come from. */
const contested = story.map(({ clicks, facts, picks }): Story => {
  const alike = { ip: '192.0.2.1', os_major: 15, model: null, device_hashes: ['d'] }
  const few = clicks.filter((_, n) => n % 3 === 0).slice(0, 4)
  return {
    clicks: few.map((click) => ({ ...click, ...alike, partner: 'p', filtered_reason: null, lookback_hours: null })),
    facts: facts.flatMap((fact, n) =>
      fact.kind === 'alias' ? [] : { ...fact, ...alike, install_uuid: `i${n}`, referrer: null, named_click: null },
    ),
    picks,
  }
})
export const stories = fc.oneof(story, contested)

export type Told = Awaited<ReturnType<typeof tell>>

/** The last line of what-if. */
export async function answerOf(given: {
  lookups: Lookups
  pages: AsyncIterable<readonly Decision[]>
  settings: WhatIfSettings
  /** One by default: each install sees what was decided before it, in a batch of its own. */
  batch_installs?: number
  app_id?: string
  now: () => number
}): Promise<WhatIf> {
  const { app_id: of = app_id, batch_installs = 1, ...asked } = given
  const steps = whatIf({ ...asked, batch_installs, app: { app_id: of, clicks_deleted_before_ms: 0 } })
  for (;;) {
    const { done, value } = await steps.next()
    if (done) return value
  }
}

/** The same from the verdicts of the whole: what they are, and what they are if installs of the window are decided otherwise. */
export function expectedOf(
  { facts, clicks }: Story,
  { clock }: Told,
  given: WhatIfSettings,
  { since_ms, until_ms }: Window,
) {
  const isIn = (at_ms: number) => at_ms >= since_ms && at_ms < until_ms
  const before = bruteForce(facts, clicks, clock.ms)
  const after = bruteForce(facts, clicks, clock.ms, undefined, (install) => {
    const own = windowsOf(install, null, settingsAt)
    return isIn(install.installed_at_ms) ? otherWindows(own, given) : own
  })
  const both = Object.entries(before)
    .filter(([, { installed_at_ms }]) => isIn(installed_at_ms))
    .map(([uuid, { verdict }]) => [verdict!, after[uuid]!.verdict!] as const)
  const changed = both.filter(([was, is]) => JSON.stringify(was) !== JSON.stringify(is))
  const names = new Set(both.flat().map(({ partner }) => partner))
  const count = (side: 0 | 1, isOf: (verdict: Verdict) => boolean) => both.filter((one) => isOf(one[side])).length
  return {
    installs: both.length,
    changed: changed.length,
    partners: [...names].map((partner) => ({
      partner,
      before: count(0, (one) => one.partner === partner),
      after: count(1, (one) => one.partner === partner),
      reinstalls_before: count(0, (one) => one.partner === partner && one.reinstall),
      reinstalls_after: count(1, (one) => one.partner === partner && one.reinstall),
    })),
    moves: [...Map.groupBy(changed, ([was, is]) => `${was.partner} to ${is.partner}`)].map(([move, of]) => [
      move,
      of.length,
    ]),
  }
}

/** Windows of an install, each replaced where its setting is given. */
function otherWindows(own: Windows, { click_window_hours, probabilistic, reinstall_days }: WhatIfSettings): Windows {
  const windows = { ...own }
  if (click_window_hours !== undefined) windows.click_hours = click_window_hours
  if (probabilistic === 'false') windows.probabilistic_hours = null
  if (reinstall_days !== undefined) windows.reinstall_days = reinstall_days
  return windows
}

export const summaryOf = ({ moves, ...counts }: WhatIf) => ({
  ...counts,
  moves: moves.map(({ from, to, installs }) => [`${from} to ${to}`, installs]),
})
export const inAnyOrder = <T extends { partners: unknown[]; moves: unknown[] }>({ partners, moves, ...counts }: T) => ({
  ...counts,
  partners: new Set(partners),
  moves: new Set(moves),
})
