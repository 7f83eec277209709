import type { WhatIf, WhatIfSettings } from '@tributary/contracts/admin/rows/what-if'
import type { Verdict } from '@tributary/contracts/attribution/verdict'
import { limits } from '@tributary/contracts/limits'
import { whatIf, windowsUnder } from '@tributary/deciding/what-if'
import { windowsOf } from '@tributary/domain/attribute/attribute'
import { byInstall } from '@tributary/domain/attribute/verdict'
import { roundsOf } from '@tributary/testing/rounds'
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { fewMakeACrowd, type Story, story, tell } from './model/arrivals.ts'
import { memoryLookups } from './model/memory-lookups.ts'
import { app_id, hour_ms, t0 } from './model/story.ts'
import { bruteForce, own_settings, settingsAt } from './model/world.ts'

const real = { ...limits }
afterEach(() => {
  Object.assign(limits, real)
  for (const name of Object.keys(own_settings)) Reflect.deleteProperty(own_settings, name)
})

const everything = { since_ms: 0, until_ms: Number.MAX_SAFE_INTEGER }
type Window = typeof everything

const held = fc.record({
  click_window_hours: fc.constantFrom(1, 3, 10, 24, 168),
  probabilistic: fc.constantFrom(true, true, false),
  probabilistic_window_hours: fc.constantFrom(5, 24),
  reinstall_days: fc.constantFrom(1, 90),
})
const settings = fc.record(
  {
    click_window_hours: fc.constantFrom(1, 3, 10, 24, 720),
    probabilistic: fc.constant<'false'>('false'),
    reinstall_days: fc.constantFrom(1, 90, 3650),
  },
  { requiredKeys: [] },
)
const hour = fc.integer({ min: 0, max: 46 }).map((n) => t0 + n * hour_ms)
const windows = fc.oneof(
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
const stories = fc.oneof(story, contested)

type Told = Awaited<ReturnType<typeof tell>>

/** The answer of what-if over the tables of a story, with pages of a few installs. */
async function ask(
  { loop, clock }: Told,
  given: WhatIfSettings,
  { since_ms, until_ms }: Window,
  page_installs: number,
) {
  const decided = [...loop.tables.newest.values()]
    .filter(({ installed_at_ms: at_ms }) => at_ms >= since_ms && at_ms < until_ms)
    .toSorted(byInstall)
  async function* pages() {
    for (let at = 0; at < decided.length; at += page_installs) yield decided.slice(at, at + page_installs)
  }
  const app = { app_id, company_apps: [app_id], clicks_deleted_before_ms: 0 }
  const asked = { app, settings: given, lookups: memoryLookups(loop.tables), pages: pages(), now: () => clock.ms }
  const steps = whatIf(asked)
  for (;;) {
    const { done, value } = await steps.next()
    if (done) return value
  }
}

/** The same from the verdicts of the whole: what they are, and what they are if installs of the window are decided otherwise. */
function expectedOf({ facts, clicks }: Story, { clock }: Told, given: WhatIfSettings, { since_ms, until_ms }: Window) {
  const isIn = (at_ms: number) => at_ms >= since_ms && at_ms < until_ms
  const before = bruteForce(facts, clicks, clock.ms)
  const after = bruteForce(facts, clicks, clock.ms, undefined, (install) => {
    const own = windowsOf(install, null, settingsAt)
    return isIn(install.installed_at_ms) ? windowsUnder(given, own) : own
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

const summaryOf = ({ moves, ...counts }: WhatIf) => ({
  ...counts,
  moves: moves.map(({ from, to, installs }) => [`${from} to ${to}`, installs]),
})
const inAnyOrder = <T extends { partners: unknown[]; moves: unknown[] }>({ partners, moves, ...counts }: T) => ({
  ...counts,
  partners: new Set(partners),
  moves: new Set(moves),
})

test.each([
  ['with', fewMakeACrowd],
  ['without', real],
])('what-if with the settings that hold changes nothing, %s crowded keys', async (_with, bounds) => {
  await fc.assert(
    fc.asyncProperty(
      stories,
      held,
      windows,
      fc.integer({ min: 1, max: 4 }),
      async (told, own, window, page_installs) => {
        Object.assign(limits, bounds)
        Object.assign(own_settings, own)
        const end = await tell(told)
        const { installs, changed, moves } = await ask(end, {}, window, page_installs)
        expect({ installs, changed, moves }).toEqual({ ...expectedOf(told, end, {}, window), partners: undefined })
        const { click_window_hours, reinstall_days } = settingsAt(0)
        const same = await ask(end, { click_window_hours, reinstall_days }, window, page_installs)
        expect(same.changed).toBe(0)
      },
    ),
    { numRuns: roundsOf(100) },
  )
})

test.each([
  ['with', fewMakeACrowd],
  ['without', real],
])(
  'what-if gives what the records give when they are decided so from the start, %s crowded keys',
  async (_with, bounds) => {
    await fc.assert(
      fc.asyncProperty(
        stories,
        held,
        settings,
        windows,
        fc.integer({ min: 1, max: 4 }),
        async (told, own, given, window, page_installs) => {
          Object.assign(limits, bounds)
          Object.assign(own_settings, own)
          const end = await tell(told)
          const answer = await ask(end, given, window, page_installs)
          expect(inAnyOrder(summaryOf(answer))).toEqual(inAnyOrder(expectedOf(told, end, given, window)))
        },
      ),
      { numRuns: roundsOf(200) },
    )
  },
)
