import type { WhatIfSettings } from '@tributary/contracts/admin/rows/what-if'
import { limits } from '@tributary/contracts/limits'
import { byInstall } from '@tributary/domain/attribute/verdict'
import { roundsOf } from '@tributary/testing/rounds'
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { fewMakeACrowd, tell } from '../model/arrivals.ts'
import { memoryLookups } from '../model/memory-lookups.ts'
import { own_settings, settingsAt } from '../model/world.ts'
import {
  answerOf,
  expectedOf,
  held,
  inAnyOrder,
  settings,
  stories,
  summaryOf,
  type Told,
  type Window,
  windows,
} from './what-if-stage.ts'

const real = { ...limits }
afterEach(() => {
  Object.assign(limits, real)
  for (const name of Object.keys(own_settings)) Reflect.deleteProperty(own_settings, name)
})

/** So few candidates that some clicks hide others. */
const fewCandidates = { install_candidates_max: 3, candidates_lost_max: 2, candidates_after_max: 1 }
const ofLimits: [string, object][] = [
  ['few installs to a crowd', fewMakeACrowd],
  ['few candidates', fewCandidates],
  ['the limits of the product', real],
]

/** The answer over the tables of a story, with batches of a few installs. */
function ask({ loop, clock }: Told, given: WhatIfSettings, { since_ms, until_ms }: Window, batch_installs: number) {
  const decided = [...loop.tables.newest.values()]
    .filter(({ installed_at_ms: at_ms }) => at_ms >= since_ms && at_ms < until_ms)
    .toSorted(byInstall)
  async function* pages() {
    for (let at = 0; at < decided.length; at += 3) yield decided.slice(at, at + 3)
  }
  const lookups = memoryLookups(loop.tables)
  return answerOf({ lookups, pages: pages(), settings: given, batch_installs, now: () => clock.ms })
}

test.each(ofLimits)('what-if with the settings that hold changes nothing, with %s', async (_of, bounds) => {
  await fc.assert(
    fc.asyncProperty(
      stories,
      held,
      windows,
      fc.integer({ min: 1, max: 4 }),
      async (told, own, window, batch_installs) => {
        Object.assign(limits, bounds)
        Object.assign(own_settings, own)
        const end = await tell(told)
        const { installs, changed, moves } = await ask(end, {}, window, batch_installs)
        expect({ installs, changed, moves }).toEqual({ ...expectedOf(told, end, {}, window), partners: undefined })
        const { click_window_hours, reinstall_days } = settingsAt(0)
        const same = await ask(end, { click_window_hours, reinstall_days }, window, batch_installs)
        expect(same.changed).toBe(0)
      },
    ),
    { numRuns: roundsOf(60) },
  )
})

test.each(ofLimits)(
  'what-if gives what the records give when they are decided so from the start, with %s',
  async (_of, bounds) => {
    await fc.assert(
      fc.asyncProperty(
        stories,
        held,
        settings,
        windows,
        fc.integer({ min: 1, max: 4 }),
        async (told, own, given, window, batch_installs) => {
          Object.assign(limits, bounds)
          Object.assign(own_settings, own)
          const end = await tell(told)
          const answer = await ask(end, given, window, batch_installs)
          expect(inAnyOrder(summaryOf(answer))).toEqual(inAnyOrder(expectedOf(told, end, given, window)))
        },
      ),
      { numRuns: roundsOf(120) },
    )
  },
)
