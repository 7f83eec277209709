import type { WhatIf } from '@tributary/contracts/admin/rows/what-if'
import type { Decision, KeptClick } from '@tributary/contracts/attribution/decision'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import type { Windows } from '@tributary/contracts/attribution/verdict'
import { attribute } from '@tributary/domain/attribute/attribute'
import { expect, test } from 'vitest'
import { memoryLookups } from '../model/memory-lookups.ts'
import { click, day_ms, hour_ms, install, t0, token } from '../model/story.ts'
import { answerOf } from './what-if-stage.ts'

const now = () => t0 + 2 * day_ms
const windows = { click_hours: 168, probabilistic_hours: 24, reinstall_days: 90 }
const erased = token(99)
const claimsOf = (earlier: readonly Decision[]) =>
  new Map(earlier.flatMap((one) => (one.verdict?.click_id ? [[one.verdict.click_id, one] as const] : [])))

/** The decision on an install after `earlier` ones, by windows of its own. */
const decide = (
  one: InstallFact,
  clicks: readonly KeptClick[],
  earlier: readonly Decision[] = [],
  own: Windows = windows,
): Decision => ({
  ...attribute({
    ...{ install: one, clicks, claims: claimsOf(earlier), others: [], crowds: new Map(), newest: null, now_ms: now() },
    windows: own,
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

/** A click that an install may match by its device or by its address. */
const near_d = click(1, { device_hashes: ['d'], ip: near.ip, os_major: near.os_major })

test('an install that loses its click leaves it to a later install, also of a later page', async () => {
  const [by_address, by_device] = [
    install(1, near),
    install(2, { device_hashes: ['d'], installed_at_ms: t0 + 2 * hour_ms }),
  ]
  const first = decide(by_address, [near_d])
  expect(first.verdict).toMatchObject({ partner: 'p', attribution_type: 'probabilistic' })
  const second = decide(by_device, [near_d], [first])
  expect(second.verdict).toMatchObject({ partner: 'organic' })
  const stored = [first, second]
  const newest = new Map(stored.map((one) => [one.install_uuid, one]))
  const lookups = memoryLookups({ facts: [by_address, by_device], clicks: [near_d], newest, floods: [] })
  const answer = await answerOf({ lookups, pages: pageOf(...stored), settings: { probabilistic: 'false' }, now })
  expect(moved(answer)).toEqual(['organic to p: 1', 'p to organic: 1'])
})

test('an install that gets a click takes it from a later install, also of a later page', async () => {
  const [early, late] = [1, 2].map((n) =>
    install(n, { device_hashes: ['d'], installed_at_ms: t0 + (n + 1) * hour_ms }),
  ) as [InstallFact, InstallFact]
  const first = decide(early, [near_d], [], { ...windows, click_hours: 1 })
  const second = decide(late, [near_d], [first])
  expect([first, second].map(({ verdict }) => verdict!.partner)).toEqual(['organic', 'p'])
  const stored = [first, second]
  const newest = new Map(stored.map((one) => [one.install_uuid, one]))
  const lookups = memoryLookups({ facts: [early, late], clicks: [near_d], newest, floods: [] })
  const answer = await answerOf({ lookups, pages: pageOf(...stored), settings: { click_window_hours: 168 }, now })
  expect(moved(answer)).toEqual(['organic to p: 1', 'p to organic: 1'])
})

const moved = ({ moves }: WhatIf): string[] =>
  moves.map(({ from, to, installs }) => `${from} to ${to}: ${installs}`).toSorted()
