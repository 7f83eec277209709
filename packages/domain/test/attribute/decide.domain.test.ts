import type { KeptClick } from '@tributary/contracts/attribution/decision'
import { methods } from '@tributary/contracts/attribution/verdict'
import { decide } from '@tributary/domain/attribute/decide'
import { byTime, type ClickWindows, type InstallClues } from '@tributary/domain/attribute/verdict'
import fc from 'fast-check'
import { expect, test } from 'vitest'

type Install = InstallClues & { install_uuid: string }

const hour_ms = 3600 * 1000
const t0 = Date.UTC(2026, 5, 1)
const windows: ClickWindows = { click_ms: 7 * 24 * hour_ms, probabilistic_ms: 24 * hour_ms, probabilistic: true }
const idAt = (ms: number, n: number) => {
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${n.toString(16).padStart(12, '0')}`
}

const click = (n: number, given: Partial<KeptClick> = {}): KeptClick => ({
  ...{ v: 1, company_id: 'co', app_id: 'app', ad_group: null, creative: null, deep_link: null, country: null },
  ...{ user_agent: '', os: null },
  click_id: idAt(given.clicked_at_ms ?? t0, n),
  ...{
    partner: 'p',
    campaign: 'c',
    link_id: 'l',
    ext_click_id: null,
    sub1: null,
    sub2: null,
    sub3: null,
    sub4: null,
    sub5: null,
    clicked_at_ms: t0,
  },
  ...{ place: { topic: 't@1', partition: 0, offset: n, index: 0 }, filtered_reason: null, lookback_hours: null },
  ...{ ip: '192.0.2.1', os_major: 15, model: null, device_hashes: [] },
  ...given,
})
const install = (given: Partial<Install> = {}): Install => ({
  ...{ install_uuid: 'i', installed_at_ms: t0 + hour_ms, received_at_ms: t0 + hour_ms },
  ...{ place: { topic: 't@1', partition: 0, offset: 0, index: 0 }, ip: null, os_major: null, model: null },
  ...{ device_hashes: [], referrer: null, named_click: null },
  ...given,
})
const run = (facts: Install, clicks: readonly KeptClick[], more: object = {}) =>
  decide({
    install: facts,
    clicks,
    claims: new Map(),
    windows,
    expired: [],
    isErasedClick: () => false,
    may_wait: true,
    ...more,
  })
const reasons = (decision: ReturnType<typeof decide>) =>
  decision.candidates.map(({ outcome, reason }) => reason ?? outcome)

const alike = { ip: '192.0.2.1', os_major: 15 }
const device = { device_hashes: ['d'] }
const valid = (n: number, ms = t0) => ({ click_id: idAt(ms, n), signature: 'valid' as const })

test.each<[string, Partial<Install>, KeptClick[], number | null, string[]]>([
  [
    'a signed referrer before everything else',
    { ...alike, ...device, referrer: valid(1) },
    [click(1), click(2, { ...device, clicked_at_ms: t0 + 5 })],
    1,
    ['won', 'weaker_method'],
  ],
  [
    'the latest click of a method',
    device,
    [click(1, device), click(2, { ...device, clicked_at_ms: t0 + 5 })],
    2,
    ['won', 'older_click'],
  ],
  [
    'no click after the install',
    device,
    [click(1, { ...device, clicked_at_ms: t0 + hour_ms + 1 })],
    null,
    ['after_install'],
  ],
  ['a click of the same millisecond', device, [click(1, { ...device, clicked_at_ms: t0 + hour_ms })], 1, ['won']],
  [
    'a click one millisecond inside its window',
    { ...device, installed_at_ms: t0 + 7 * 24 * hour_ms - 1 },
    [click(1, device)],
    1,
    ['won'],
  ],
  [
    'no click exactly 7 days before',
    { ...device, installed_at_ms: t0 + 7 * 24 * hour_ms },
    [click(1, device)],
    null,
    ['outside_window'],
  ],
  [
    'no alike click exactly 24 h before',
    { ...alike, installed_at_ms: t0 + 24 * hour_ms },
    [click(1)],
    null,
    ['outside_window'],
  ],
  [
    'an alike click of one partner, the latest',
    alike,
    [click(1), click(2, { clicked_at_ms: t0 + 5 })],
    2,
    ['won', 'older_click'],
  ],
  [
    'no alike click of two partners',
    alike,
    [click(1), click(2, { partner: 'q', clicked_at_ms: t0 + 5 })],
    null,
    ['ambiguous', 'ambiguous'],
  ],
  ['no alike click of an unknown version', { ...alike, os_major: null }, [click(1)], null, []],
  ['no alike click of another model', { ...alike, model: 'A' }, [click(1, { model: 'B' })], null, []],
  ['an alike click that tells no model', { ...alike, model: 'A' }, [click(1)], 1, ['won']],
  ['no filtered click', device, [click(1, { ...device, filtered_reason: 'bot' })], null, ['filtered']],
  [
    'nothing at all with a forged click',
    { ...device, referrer: { click_id: idAt(t0, 9), signature: 'forged' } },
    [click(1, device)],
    null,
    ['bad_signature', 'weaker_method'],
  ],
  [
    'a bare click id of a deep link',
    { named_click: { click_id: idAt(t0, 1), signature: 'absent' } },
    [click(1)],
    1,
    ['won'],
  ],
  [
    'no unsigned referrer',
    { referrer: { click_id: idAt(t0, 1), signature: 'absent' } },
    [click(1)],
    null,
    ['unsigned'],
  ],
  [
    'the device behind an unsigned referrer',
    { ...device, referrer: { click_id: idAt(t0, 1), signature: 'absent' } },
    [click(1, device)],
    1,
    ['won'],
  ],
  [
    'the window of the link',
    { ...device, installed_at_ms: t0 + 2 * hour_ms },
    [click(1, { ...device, lookback_hours: 1 })],
    null,
    ['outside_window'],
  ],
  [
    'no alike click beyond the window of the app, however long that of its link is',
    { ...alike, installed_at_ms: t0 + 24 * hour_ms },
    [click(1, { lookback_hours: 48 })],
    null,
    ['outside_window'],
  ],
  [
    'a click of its device before a later one that is alike',
    { ...alike, ...device },
    [click(1, device), click(2, { clicked_at_ms: t0 + 5 })],
    1,
    ['won', 'weaker_method'],
  ],
])('an install takes %s', (_what, facts, clicks, won, expected) => {
  const decision = run(install(facts), clicks)
  expect([decision.click?.place.offset ?? null, reasons(decision)]).toEqual([won, expected])
})

test.each<[string, Partial<Install>, string]>([
  ['signed by us', { referrer: valid(1) }, 'click_already_used'],
  ['that nobody signed', { referrer: { ...valid(1), signature: 'absent' } }, 'click_already_used'],
  ['named by the app', { named_click: valid(1) }, 'click_already_used'],
  ['with a forged signature', { referrer: { ...valid(1), signature: 'forged' } }, 'bad_signature'],
])('an install never waits for an erased click %s, and loses it', (_name, given, reason) => {
  const isErasedClick = (click_id: string) => click_id === idAt(t0, 1)
  const decision = run(install(given), [], { isErasedClick })
  expect(decision).toMatchObject({ pending: false, click: null })
  expect(reasons(decision)).toEqual([reason])
  // Another click wins as if the erased one had never been named, unless its name was forged.
  const other = run(install({ ...given, ...device }), [click(2, device)], { isErasedClick })
  expect(other.click?.click_id ?? null).toBe(reason === 'bad_signature' ? null : idAt(t0, 2))
})

test('an install waits for a signed click that is not there yet, and is organic if it never comes', () => {
  const facts = install({ ...alike, referrer: valid(7) })
  expect(run(facts, [click(1)])).toMatchObject({ pending: true, click: null })
  const late = run(facts, [click(1)], { may_wait: false })
  expect(late).toMatchObject({ pending: false, click: null, method: null })
  expect(reasons(late)).toEqual(['unknown_click', 'weaker_method'])
  expect(run(facts, [click(1), click(7)], { may_wait: false })).toMatchObject({ method: 'install_referrer' })
  expect(run(facts, [], { may_wait: false })).toMatchObject({ pending: false, click: null })
})

test('a missing click that is named twice is one candidate, by the method that it would have', () => {
  const absent = { ...valid(7), signature: 'absent' as const }
  const methodsOf = (given: Partial<Install>) => run(install(given), []).candidates.map(({ method }) => method)
  expect(methodsOf({ referrer: valid(7), named_click: valid(7) })).toEqual(['install_referrer'])
  expect(methodsOf({ referrer: absent, named_click: absent })).toEqual(['click_id'])
})

const place = fc.record({
  topic: fc.constant('t@1'),
  index: fc.constant(0),
  partition: fc.integer({ min: 0, max: 1 }),
  offset: fc.integer({ min: 0, max: 1e6 }),
})
const some = <T>(arb: fc.Arbitrary<T>) => fc.option(arb, { freq: 2 })
const clickArb = fc.record({
  clicked_at_ms: fc.integer({ min: 0, max: 30 }).map((n) => t0 + n * hour_ms),
  partner: fc.constantFrom('p', 'q'),
  ip: fc.constantFrom('192.0.2.1', '192.0.2.2'),
  os_major: some(fc.constantFrom(14, 15)),
  device_hashes: fc.subarray(['d', 'e']),
  filtered_reason: fc.constantFrom(null, null, null, 'bot'),
  lookback_hours: fc.constantFrom(null, null, 3),
})
const history = fc
  .array(clickArb, { maxLength: 7 })
  .map((all) => all.map((given, n) => click(n, given)))
  .chain((clicks) =>
    fc.record({
      clicks: fc.constant(clicks),
      installs: fc
        .array(
          fc.record({
            installed_at_ms: fc.integer({ min: 0, max: 40 }).map((n) => t0 + n * hour_ms),
            place,
            ip: some(fc.constantFrom('192.0.2.1', '192.0.2.2')),
            os_major: some(fc.constantFrom(14, 15)),
            device_hashes: fc.subarray(['d', 'e']),
            referrer:
              clicks.length === 0
                ? fc.constant(null)
                : some(
                    fc.record({
                      click_id: fc.constantFrom(...clicks.map((c) => c.click_id)),
                      signature: fc.constantFrom('valid' as const, 'absent' as const, 'forged' as const),
                    }),
                  ),
          }),
          { maxLength: 8 },
        )
        .map((all) =>
          all.map((given, n) =>
            install({
              ...given,
              install_uuid: `i${n}`,
              place: { ...given.place, offset: given.place.offset * 10 + n },
            }),
          ),
        ),
    }),
  )

const inTime = (facts: Install) => ({ at_ms: facts.installed_at_ms, place: facts.place })
const isEarlier = (a: Install, b: Install) => byTime(inTime(a), inTime(b)) < 0

/** By the words of docs/rules.md: installs in their order, each takes the best click that none before it took. */
function twin(clicks: readonly KeptClick[], installs: readonly Install[]): Record<string, string | null> {
  const taken = new Set<KeptClick>()
  const result: Record<string, string | null> = {}
  for (const facts of installs.toSorted((a, b) => (isEarlier(a, b) ? -1 : 1))) {
    result[facts.install_uuid] = null
    if (facts.referrer?.signature === 'forged') continue
    for (const method of methods) {
      const open = clicks.filter(
        (one) => !taken.has(one) && one.filtered_reason === null && matches(facts, one, method),
      )
      if (open.length === 0) continue
      if (method === 'probabilistic' && new Set(open.map(({ partner }) => partner)).size > 1) break
      const latest = open.toSorted((a, b) => b.clicked_at_ms - a.clicked_at_ms || b.place.offset - a.place.offset)[0]!
      taken.add(latest)
      result[facts.install_uuid] = latest.click_id
      break
    }
  }
  return result
}

function matches(facts: Install, one: KeptClick, method: string): boolean {
  const age_ms = facts.installed_at_ms - one.clicked_at_ms
  const most_ms =
    method === 'probabilistic'
      ? Math.min(24, one.lookback_hours ?? 24) * hour_ms
      : (one.lookback_hours ?? 7 * 24) * hour_ms
  if (age_ms < 0 || age_ms >= most_ms) return false
  const byReferrer = facts.referrer?.signature === 'valid' && facts.referrer.click_id === one.click_id
  const byDevice = one.device_hashes.some((hash) => facts.device_hashes.includes(hash))
  if (method === 'install_referrer') return byReferrer
  if (method === 'device_id') return !byReferrer && byDevice
  const same = facts.ip !== null && facts.ip === one.ip && facts.os_major !== null && facts.os_major === one.os_major
  return method === 'probabilistic' && !byReferrer && !byDevice && same
}

test('whatever the order in which installs come, re-decisions lead to the verdicts that the rules give', () => {
  const orders = fc.infiniteStream(fc.nat())
  fc.assert(
    fc.property(history, orders, ({ clicks, installs }, picks) => {
      const verdicts = new Map<string, string | null>()
      const waiting = [...installs]
      for (let steps = 0; waiting.length > 0; steps += 1) {
        expect(steps).toBeLessThan(5000)
        const [facts] = waiting.splice((picks.next().value as number) % waiting.length, 1) as [Install]
        const claims = new Map<string, Install>()
        for (const other of installs.toSorted((a, b) => (isEarlier(a, b) ? 1 : -1))) {
          const click_id = other === facts ? null : (verdicts.get(other.install_uuid) ?? null)
          if (click_id !== null) claims.set(click_id, other) // the earliest comes last and stays
        }
        const before = verdicts.get(facts.install_uuid) ?? null
        const after =
          decide({ install: facts, clicks, claims, windows, expired: [], isErasedClick: () => false, may_wait: true })
            .click?.click_id ?? null
        verdicts.set(facts.install_uuid, after)
        if (before === after) continue
        waiting.push(...installs.filter((other) => isEarlier(facts, other) && verdicts.has(other.install_uuid)))
      }
      expect(Object.fromEntries(verdicts)).toEqual(twin(clicks, installs))
    }),
    { numRuns: 2000 },
  )
})
