import { setImmediate as nextTurn } from 'node:timers/promises'
import type { DecidedInstall } from '@tributary/deciding/decide-in-order'
import type { Evidence } from '@tributary/deciding/evidence'
import { attribute } from '@tributary/domain/attribute/attribute'
import { afterEach, expect, test, vi } from 'vitest'
import { findTouched } from '../src/steps/find-touched.ts'
import { memoryLookups } from './model/memory-lookups.ts'
import { app_id, click, install, t0 } from './model/story.ts'
import { apps } from './model/world.ts'

afterEach(() => void vi.restoreAllMocks())

const windows = { click_hours: 168, probabilistic_hours: 24, reinstall_days: 90 }

/** The `n`th install, which had nothing and wins a click of its device. */
function winner(n: number): DecidedInstall {
  const clicks = [click(n, { device_hashes: [`d${n}`], ip: `2001:db8::${n}` })]
  const one = install(n, { device_hashes: [`d${n}`], installed_at_ms: t0 + 1000 })
  const decide = (won: typeof clicks) =>
    attribute({
      ...{ install: one, clicks: won, claims: new Map(), others: [], newest: null, windows, crowds: new Map() },
      ...{ now_ms: t0, clicks_deleted_before_ms: 0, isErasedClick: () => false, isFlooded: () => false },
      ...{ datacenter: false, blocked: false, neighbours_before: 0 },
    })
  const decided_at = { log: 'installs.found.v1@a', offset: 1, try: 1 }
  return {
    ...{ install: one, facts: [one], windows, crowds: new Map(), clicks, decided: decide(clicks), changed: true },
    newest: { ...decide([]), decided_at_ms: t0, decided_at },
  }
}

test('others get their turn while the installs that see changed clicks are looked for', async () => {
  const decided = Array.from({ length: 200 }, (_, n) => winner(n))
  const later = decided.map((_, n) => install(1000 + n, { device_hashes: [`d${n}`], installed_at_ms: t0 + 2000 }))
  const facts = [...decided.map((one) => one.install), ...later]
  const lookups = memoryLookups({ facts, clicks: [], newest: new Map(), floods: [] })
  const app = (await apps.find(app_id))!
  const evidence = { pushedBy: () => [], facts: new Map() } as unknown as Evidence
  // Each look at the clock is a millisecond later.
  let now_ms = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now_ms++)
  let turns = 0
  const finding = findTouched(
    lookups,
    { app, facts: [], again: new Set(), windowsOf: (_install, newest) => newest!.windows, isErasedClick: () => false },
    evidence,
    decided,
  )
  let done = false
  const found = finding.finally(() => {
    done = true
  })
  for (; !done; turns += 1) await nextTurn()
  expect((await found).map(({ install_uuid }) => install_uuid)).toEqual(later.map(({ install_uuid }) => install_uuid))
  expect(turns).toBeGreaterThan(decided.length / 5)
})
