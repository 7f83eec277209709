import type { WhatIf } from '@tributary/contracts/admin/rows/what-if'
import type { Decision, KeptClick } from '@tributary/contracts/attribution/decision'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import type { Windows } from '@tributary/contracts/attribution/verdict'
import { limits } from '@tributary/contracts/limits'
import type { Lookups } from '@tributary/deciding/lookups/lookups'
import { attribute } from '@tributary/domain/attribute/attribute'
import { expect, onTestFinished, test } from 'vitest'
import { memoryLookups } from '../model/memory-lookups.ts'
import { click, day_ms, hour_ms, install, t0, token } from '../model/story.ts'
import { answerOf } from './what-if-stage.ts'

const real = { ...limits }
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
const pageOf = async function* (...installs: Decision[]) {
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
  const answer = await answerOf({ lookups, pages: pageOf(stored), settings: { reinstall_days: 3650 }, now })
  expect(answer).toMatchObject({ installs: 1, changed: 0 })
})

/** A click that an install may match by its device or by its address. */
const near_d = click(1, { device_hashes: ['d'], ip: near.ip, os_major: near.os_major })

test.each([
  ['the same batch', 2],
  ['a later batch', 1],
])('an install that loses its click leaves it to a later install of %s', async (_which, batch_installs) => {
  const [by_address, by_device] = [
    install(1, near),
    install(2, { device_hashes: ['d'], installed_at_ms: t0 + 2 * hour_ms }),
  ]
  const first = decide(by_address, [near_d])
  expect(first.verdict).toMatchObject({ partner: 'p', attribution_type: 'probabilistic' })
  const second = decide(by_device, [near_d], [first])
  expect(second.verdict).toMatchObject({ partner: 'organic' })
  const given = { settings: { probabilistic: 'false' }, batch_installs } as const
  const answer = await answerOver([by_address, by_device], [near_d], [first, second], given)
  expect(moved(answer)).toEqual(['organic to p: 1', 'p to organic: 1'])
})

test.each([
  ['the same batch', 2],
  ['a later batch', 1],
])('an install that gets a click takes it from a later install of %s', async (_which, batch_installs) => {
  const [early, late] = [1, 2].map((n) =>
    install(n, { device_hashes: ['d'], installed_at_ms: t0 + (n + 1) * hour_ms }),
  ) as [InstallFact, InstallFact]
  const first = decide(early, [near_d], [], { ...windows, click_hours: 1 })
  const second = decide(late, [near_d], [first])
  expect([first, second].map(({ verdict }) => verdict!.partner)).toEqual(['organic', 'p'])
  // The later one keeps its window: no setting moves it.
  const given = { settings: { click_window_hours: 168 }, batch_installs }
  const answer = await answerOver([early, late], [near_d], [first, second], given)
  expect(moved(answer)).toEqual(['organic to p: 1', 'p to organic: 1'])
})

test.each([
  [2, 'p to organic: 1'],
  [3, null],
])('a click of two hours before is in a window of %i hours: %s', async (click_window_hours, move) => {
  const one = install(1, { device_hashes: ['d'], installed_at_ms: t0 + 2 * hour_ms })
  const clicks = [click(1, { device_hashes: ['d'], clicked_at_ms: t0 })]
  const answer = await answerOver([one], clicks, [decide(one, clicks)], { settings: { click_window_hours } })
  expect(moved(answer)).toEqual(move === null ? [] : [move])
})

test('an install gets a click that others, which cannot win, hid from it', async () => {
  Object.assign(limits, { candidates_lost_max: 2 })
  onTestFinished(() => void Object.assign(limits, real))
  const one = install(1, { device_hashes: ['d'], installed_at_ms: t0 + 10 * hour_ms })
  const filtered = { device_hashes: ['d'], filtered_reason: 'bot' as const }
  const clicks = [
    click(1, { device_hashes: ['d'], clicked_at_ms: t0 }),
    ...[8, 9].map((hour) => click(hour, { ...filtered, clicked_at_ms: t0 + hour * hour_ms })),
  ]
  const stored = decide(one, clicks, [], { ...windows, click_hours: 1 })
  expect(stored.candidates.map(({ reason }) => reason)).toEqual(['filtered', 'filtered'])
  const answer = await answerOver([one], clicks, [stored], { settings: { click_window_hours: 24 } })
  expect(moved(answer)).toEqual(['organic to p: 1'])
})

test.each([
  ['the same batch', 2],
  ['a later batch', 1],
])(
  'an install that gets a click that was hidden from it takes it from a later install of %s',
  async (_which, batch_installs) => {
    Object.assign(limits, { candidates_lost_max: 2 })
    onTestFinished(() => void Object.assign(limits, real))
    const at = (hour: number) => ({ installed_at_ms: t0 + hour * hour_ms })
    const [early, late] = [
      install(1, { device_hashes: ['d'], ...at(10) }),
      install(2, { device_hashes: ['e'], ...at(11) }),
    ]
    const filtered = { device_hashes: ['d'], filtered_reason: 'bot' as const }
    const clicks = [
      click(1, { device_hashes: ['d', 'e'], clicked_at_ms: t0 }),
      ...[8, 9].map((hour) => click(hour, { ...filtered, clicked_at_ms: t0 + hour * hour_ms })),
    ]
    const first = decide(early, clicks, [], { ...windows, click_hours: 1 })
    const second = decide(late, clicks.slice(0, 1), [first])
    expect([first, second].map(({ verdict }) => verdict!.partner)).toEqual(['organic', 'p'])
    const given = { settings: { click_window_hours: 168 }, batch_installs }
    const answer = await answerOver([early, late], clicks, [first, second], given)
    expect(moved(answer)).toEqual(['organic to p: 1', 'p to organic: 1'])
  },
)

test('only installs that the settings may move are decided again', async () => {
  const installs = [1, 2, 3].map((n) =>
    install(n, { device_hashes: [`d${n}`], installed_at_ms: t0 + 10 * n * hour_ms }),
  )
  const clicks = [1, 2].map((n) => click(n, { device_hashes: [`d${n}`], clicked_at_ms: t0 }))
  const asked: string[] = []
  const stored = installs.map((one) => decide(one, clicks))
  const given = { settings: { click_window_hours: 15 }, onFacts: (uuids: readonly string[]) => asked.push(...uuids) }
  const answer = await answerOver(installs, clicks, stored, given)
  expect(answer).toMatchObject({ installs: 3, changed: 1 })
  expect(asked).toEqual([installs[1]!.install_uuid])
})

/** What-if over these tables, each install in the order of the list. */
function answerOver(
  facts: InstallFact[],
  clicks: KeptClick[],
  stored: Decision[],
  { onFacts = () => {}, ...given }: Asked,
): Promise<WhatIf> {
  const newest = new Map(stored.map((one) => [one.install_uuid, one]))
  const tables = memoryLookups({ facts, clicks, newest, floods: [] })
  const lookups: Lookups = {
    ...tables,
    facts: (app_id, uuids, which) => {
      onFacts(uuids)
      return tables.facts(app_id, uuids, which)
    },
  }
  return answerOf({ lookups, pages: pageOf(...stored), now, ...given })
}

type Asked = Pick<Parameters<typeof answerOf>[0], 'settings' | 'batch_installs'> & {
  onFacts?: (install_uuids: readonly string[]) => void
}

const moved = ({ moves }: WhatIf): string[] =>
  moves.map(({ from, to, installs }) => `${from} to ${to}: ${installs}`).toSorted()
