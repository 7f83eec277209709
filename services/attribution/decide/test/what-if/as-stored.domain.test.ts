import type { Decision, KeptClick } from '@tributary/contracts/attribution/decision'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import { attribute } from '@tributary/domain/attribute/attribute'
import { expect, test } from 'vitest'
import { memoryLookups } from '../model/memory-lookups.ts'
import { click, day_ms, hour_ms, install, t0, token } from '../model/story.ts'
import { answerOf } from './what-if-stage.ts'

const now = () => t0 + 2 * day_ms
const windows = { click_hours: 168, probabilistic_hours: 24, reinstall_days: 90 }
const erased = token(99)
const decide = (one: InstallFact, clicks: readonly KeptClick[]): Decision => ({
  ...attribute({
    ...{ install: one, clicks, claims: new Map(), others: [], windows, crowds: new Map(), newest: null, now_ms: now() },
    ...{ isErasedClick: (id) => id === erased.click_id, isFlooded: () => false, datacenter: true, blocked: true },
    ...{ neighbours_before: 20, clicks_deleted_before_ms: 0 },
  }),
  ...{ decided_at_ms: now(), decided_at: { log: 'installs.found.v1@a', offset: 1, try: 1 } },
})
const pageOf = async function* (...installs: Pick<Decision, 'install_uuid' | 'installed_at_ms' | 'place'>[]) {
  for (const one of installs) yield [one]
}

const near = { ip: '192.0.2.1', os_major: 15 }
test.each<[string, Partial<InstallFact>, Partial<InstallFact>]>([
  ['whose named click was erased', { named_click: erased, device_hashes: ['d'] }, {}],
  ['whose address retention has blanked', near, { ip: null }],
  ['with flags of its address', near, {}],
])('an install %s stays as it was decided', async (_what, given, since) => {
  const clicks = [click(1, { device_hashes: ['d'] })]
  const one = install(1, given)
  const decision = decide(one, clicks)
  expect(decision.verdict).toMatchObject({ partner: 'p', fraud_flags: expect.arrayContaining(['datacenter_ip']) })
  // The burst is known from installs of the network that are not here, so it is left out.
  const fraud_flags = decision.verdict!.fraud_flags.filter((flag) => since.ip === null || flag !== 'install_burst')
  const stored = { ...decision, verdict: { ...decision.verdict!, fraud_flags } }
  const newest = new Map([[one.install_uuid, stored]])
  const lookups = memoryLookups({ facts: [{ ...one, ...since }], clicks, newest, floods: [] })
  const answer = await answerOf({ lookups, pages: pageOf(stored), settings: { click_window_hours: 168 }, now })
  expect(answer).toMatchObject({ installs: 1, changed: 0 })
})

test('an install is decided where it stands, and not where it stood before its time changed', async () => {
  const one = install(1, { device_hashes: ['d'], installed_at_ms: t0 + 5 * hour_ms })
  const clicks = [click(1, { device_hashes: ['d'] })]
  const stored = decide(one, clicks)
  const lookups = memoryLookups({ facts: [one], clicks, newest: new Map([[one.install_uuid, stored]]), floods: [] })
  const pages = pageOf({ ...stored, installed_at_ms: t0 + hour_ms }, stored)
  const answer = await answerOf({ lookups, pages, settings: { click_window_hours: 3 }, now })
  expect(answer).toMatchObject({ installs: 1, changed: 1, moves: [{ from: 'p', to: 'organic', installs: 1 }] })
})
