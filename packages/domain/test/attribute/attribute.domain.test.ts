import type { Decision, KeptClick } from '@tributary/contracts/attribution/decision'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import { limits } from '@tributary/contracts/limits'
import { type AttributeInput, attribute, windowsOf } from '@tributary/domain/attribute/attribute'
import { saysTheSame } from '@tributary/domain/attribute/decisions'
import { findFloods } from '@tributary/domain/attribute/fraud'
import { installOf } from '@tributary/domain/attribute/install-of'
import { candidatesOf } from '@tributary/domain/attribute/match-click'
import { addressKey, clickKeys, type MatchKind, matchKey } from '@tributary/domain/attribute/match-keys'
import { byPlace } from '@tributary/domain/attribute/verdict'
import { describe, expect, it, test } from 'vitest'

const [hour_ms, day_ms] = [3600 * 1000, 24 * 3600 * 1000]
const t0 = Date.UTC(2026, 5, 1)
const idAt = (ms: number, n: number) => {
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${n.toString(16).padStart(12, '0')}`
}
const place = (offset: number, partition = 0, log = 'a') => ({ topic: `t.v1@${log}`, partition, offset, index: 0 })
const click = (n: number, given: Partial<KeptClick> = {}): KeptClick => ({
  ...{
    v: 1,
    click_id: idAt(given.clicked_at_ms ?? t0, n),
    company_id: 'co',
    app_id: 'app',
    link_id: 'l',
    partner: 'p',
  },
  ...{
    campaign: 'c',
    ad_group: null,
    creative: null,
    ext_click_id: 'x',
    sub1: '1',
    sub2: null,
    sub3: null,
    sub4: null,
  },
  ...{ sub5: null, deep_link: null, lookback_hours: null, clicked_at_ms: t0, filtered_reason: null, ip: '192.0.2.1' },
  ...{ country: null, user_agent: '', os: null, os_major: 15, model: null, device_hashes: ['d'], place: place(n) },
  ...given,
})
const install = (given: Partial<InstallFact> = {}): InstallFact => ({
  ...{ kind: 'install', v: 1, company_id: 'co', app_id: 'app', install_uuid: 'i', received_at_ms: t0 + hour_ms },
  ...{ installed_at_ms: t0 + hour_ms, place: place(0), event_name: 'app_install', is_sdk: true, platform: 'android' },
  ...{ ip: null, os_major: null, model: null, device_hashes: ['d'], user_id: null, referrer: null, named_click: null },
  ...{ referrer_click_server_s: null, install_begin_server_s: null, ...given },
})
const windows = { click_hours: 168, probabilistic_hours: 24, reinstall_days: 90 }
const run = (given: Partial<AttributeInput> = {}) =>
  attribute({
    ...{
      install: install(),
      clicks: [click(1)],
      claims: new Map(),
      others: [],
      windows,
      isFlooded: () => false,
      isErasedClick: () => false,
    },
    ...{
      datacenter: false,
      blocked: false,
      neighbours_before: 0,
      crowds: new Map(),
      newest: null,
      now_ms: t0 + hour_ms,
    },
    ...{ clicks_deleted_before_ms: 0, ...given },
  })
const flagsOf = (given: Partial<AttributeInput>) => run(given).verdict?.fraud_flags
const written = (given: Partial<AttributeInput> = {}): Decision => ({
  ...run(given),
  ...{ decided_at_ms: t0, decided_at: { log: 'f@a', offset: 1, try: 1 } },
})
const forged = { click_id: idAt(t0, 9), signature: 'forged' as const }
const soon = t0 + 9999

describe('a crowded key', () => {
  const at = t0 + hour_ms
  const crowdedAt = (kind: MatchKind, value: string, ms: number) => new Map([[matchKey(kind, value), ms]])
  const named = { click_id: idAt(t0, 1), signature: 'valid' as const }

  it.each([
    ['a device', { device_hashes: ['d'] }, ['device', 'd']],
    ['a click id', { device_hashes: [], named_click: named }, ['click', named.click_id]],
    ['the click id of a referrer', { device_hashes: [], referrer: named }, ['click', named.click_id]],
  ] as const)('matches no click and flags an SDK install: %s', (_what, given, [kind, value]) => {
    const one = install({ ...given, device_hashes: [...given.device_hashes] })
    expect(run({ install: one }).verdict?.partner).toBe('p')
    const decided = run({ install: one, crowds: crowdedAt(kind, value, at - 90 * day_ms + 1) })
    expect(decided).toMatchObject({ pending: false, candidates: [] })
    expect(decided.verdict).toMatchObject({ partner: 'organic', fraud_flags: ['crowded_device'] })
    const before = run({ install: one, crowds: crowdedAt(kind, value, at - 90 * day_ms) })
    expect(before.verdict).toMatchObject({ partner: 'p', fraud_flags: [] })
    const backend = run({ install: { ...one, is_sdk: false }, crowds: crowdedAt(kind, value, at) })
    expect(backend.verdict).toMatchObject({ partner: 'organic', fraud_flags: [] })
  })

  it('does not wait for a click that a crowd names, and still tells that it was forged', () => {
    const crowds = crowdedAt('click', named.click_id, at)
    const waiting = install({ device_hashes: [], referrer: named })
    expect(run({ install: waiting, clicks: [] }).pending).toBe(true)
    expect(run({ install: waiting, clicks: [], crowds })).toMatchObject({ pending: false })
    const wrong = install({ device_hashes: [], referrer: { ...named, signature: 'forged' } })
    const flags = run({ install: wrong, crowds }).verdict?.fraud_flags
    expect(flags).toEqual(['forged_click', 'crowded_device'])
  })

  it('of a user flags the install and takes no click from it, and a reinstall is found', () => {
    const one = install({ user_id: 'u' })
    const crowds = crowdedAt('user', 'u', at)
    const others = [{ installed_at_ms: t0, place: place(9), device_hashes: ['d'], user_id: 'u', aliases: [] }]
    expect(run({ install: one, crowds, others }).verdict).toMatchObject({
      ...{ partner: 'p', reinstall: true, fraud_flags: ['crowded_device'] },
    })
  })

  it('lets another device that is not crowded match', () => {
    const one = install({ device_hashes: ['d', 'e'] })
    const crowds = crowdedAt('device', 'e', at)
    expect(run({ install: one, crowds }).verdict?.partner).toBe('p')
  })
})

test('by an address a click is seen by the first installs after it, and after an install only without a crowd', () => {
  const phone = { device_hashes: [], ip: '192.0.2.1', os_major: 15 }
  const one = install(phone)
  const seen = (clicked_at_ms: number, crowd_ms: number) => {
    const crowds = new Map([[addressKey('192.0.2.1', 15), crowd_ms]])
    return run({ install: one, clicks: [click(1, { ...phone, clicked_at_ms })], crowds }).candidates.length === 1
  }
  expect([seen(t0, t0 - 1), seen(t0, t0), seen(t0, t0 + 1)]).toEqual([true, false, false])
  const after_ms = t0 + hour_ms + 1
  const window_ms = 90 * day_ms
  expect([seen(after_ms, t0), seen(after_ms, t0 + hour_ms - window_ms)]).toEqual([false, true])
})

test('a decision tells the whole verdict', () => {
  expect(run()).toMatchObject({
    ...{ pending: false, clicked_at_ms: t0, windows, candidates: [{ outcome: 'won' }], clicks: [{ sub1: '1' }] },
    verdict: {
      ...{ partner: 'p', attribution_type: 'device_id', campaign: 'c', link_id: 'l', click_id: idAt(t0, 1) },
      ...{ ext_click_id: 'x', sub1: '1', sub2: null, reinstall: false, fraud_flags: [] },
    },
  })
  expect(run({ clicks: [] }).verdict).toMatchObject({ partner: 'organic', attribution_type: 'organic', link_id: null })
})

const begun = { referrer_click_server_s: 8, install_begin_server_s: 7 }
const everything = { isFlooded: () => true, datacenter: true, blocked: true, neighbours_before: 20 }
test('a decision keeps the click that won, whatever longer texts filtered clicks have', () => {
  const text = '\u0001'.repeat(limits.click_value_chars_max)
  const texts = { ext_click_id: text, sub1: text, sub2: text, sub3: text, sub4: text, sub5: text }
  const filtered = Array.from({ length: 30 }, (_, n) => {
    return click(n + 2, { ...texts, clicked_at_ms: t0 + n + 1, filtered_reason: 'bot' })
  })
  const { verdict, clicks } = run({ clicks: [click(1), ...filtered] })
  expect(clicks.length).toBeLessThan(31)
  expect(clicks.map(({ click_id }) => click_id)).toContain(verdict?.click_id)
})

test.each<[string, Partial<AttributeInput>, string[]]>([
  ['nothing', {}, []],
  ['a click after the install began', { install: install(begun) }, ['click_after_install']],
  ['a time that Play does not know', { install: install({ ...begun, install_begin_server_s: 0 }) }, []],
  ['9999 ms from click to install', { install: install({ installed_at_ms: soon }) }, ['fast_install']],
  ['10 s from click to install', { install: install({ installed_at_ms: soon + 1 }) }, []],
  ['a flooding source', { isFlooded: () => true }, ['click_flooding']],
  ['a flooding source that lost', { isFlooded: () => true, clicks: [] }, []],
  ['a datacenter', { datacenter: true }, ['datacenter_ip']],
  ['a blocked address', { blocked: true }, ['blocked_ip']],
  ['19 installs of the network before it', { neighbours_before: 19 }, []],
  ['20 installs of the network before it', { neighbours_before: 20 }, ['install_burst']],
  ['a forged click', { install: install({ named_click: forged }) }, ['forged_click']],
  [
    'a backend, whatever it tells',
    { ...everything, install: install({ ...begun, is_sdk: false, installed_at_ms: soon }) },
    [],
  ],
  ['a backend with a forged click', { install: install({ is_sdk: false, referrer: forged }) }, ['forged_click']],
])('flags of an install with %s', (_what, given, expected) => expect(flagsOf(given)).toEqual(expected))

test('flags by address and the first windows stay, and expired clicks stay candidates', () => {
  const newest = written({ datacenter: true, blocked: true, isFlooded: () => true })
  const again = run({ newest, clicks: [] })
  expect(again.verdict).toMatchObject({ click_id: idAt(t0, 1), fraud_flags: ['datacenter_ip', 'blocked_ip'] })
  expect(saysTheSame(again, newest)).toBe(false)
  expect(saysTheSame(run({ newest: written(), clicks: [] }), written())).toBe(true)
  const settings = () => ({
    click_window_hours: 1,
    probabilistic: false,
    probabilistic_window_hours: 1,
    reinstall_days: 1,
  })
  expect(windowsOf(install(), newest, settings)).toEqual(windows)
  expect(windowsOf(install({ place: place(5) }), newest, settings)).toMatchObject({ probabilistic_hours: null })
})

test('the windows of an install are those that were set when it was received, however late that was', () => {
  const changed_ms = t0 + 2 * hour_ms
  const settingsAt = (ms: number) => ({
    ...{ click_window_hours: ms < changed_ms ? 168 : 24, probabilistic: true },
    ...{ probabilistic_window_hours: 24, reinstall_days: 90 },
  })
  const late = install({ installed_at_ms: changed_ms - 1, received_at_ms: changed_ms })
  expect(windowsOf(late, null, settingsAt).click_hours).toBe(24)
})

test('an install waits 24 hours from when it was received, to the millisecond', () => {
  const sent_late = { installed_at_ms: t0, received_at_ms: t0 + 3 * hour_ms }
  const waiting = install({ ...sent_late, referrer: { click_id: idAt(t0, 7), signature: 'valid' } })
  const at = (now_ms: number) => run({ install: waiting, now_ms: waiting.received_at_ms + now_ms })
  expect(at(day_ms - 1)).toMatchObject({ pending: true, verdict: null, clicked_at_ms: null })
  expect(at(day_ms)).toMatchObject({ pending: false, verdict: { partner: 'organic' } })
})

test('the first app_install counts, before it the first app_first_open, by their place alone', () => {
  const open = install({ event_name: 'app_first_open', place: place(1), received_at_ms: 1 })
  const [first, second] = [
    install({ place: place(5), received_at_ms: 9 }),
    install({ place: place(6), received_at_ms: 2 }),
  ]
  expect(installOf([open])).toBe(open)
  expect(installOf([second, open, first])).toBe(first)
  expect(installOf([])).toBeNull()
})

test('positions of different partitions are ordered by partition, whatever their logs are called', () => {
  expect(byPlace(place(9, 0, 'z'), place(1, 1, 'a'))).toBeLessThan(0)
  expect(byPlace(place(9, 1, 'a'), place(1, 1, 'b'))).toBeLessThan(0)
})

const [lookback_ms, after_ms] = [limits.candidate_lookback_ms_max, limits.candidate_device_after_ms]
const address = { ip: '192.0.2.1', os_major: 15, device_hashes: [] as string[] }
test.each<[string, Partial<InstallFact>, number, boolean]>([
  ['of the device 30 days before', {}, -lookback_ms, true],
  ['of the device more than 30 days before', {}, -lookback_ms - 1, false],
  ['of the device just under a day after', {}, after_ms - 1, true],
  ['of the device a day after', {}, after_ms, false],
  ['of the address 24 h more than the window before', address, -2 * day_ms, true],
  ['of the address longer before', address, -2 * day_ms - 1, false],
  ['of the address just under an hour after', address, hour_ms - 1, true],
  ['of the address an hour after', address, hour_ms, false],
  ['that it names, any time', { named_click: { click_id: idAt(t0, 1), signature: 'absent' } }, 90 * day_ms, true],
])('candidates are clicks %s', (_what, given, after, expected) => {
  const one = click(1, { click_id: idAt(t0, 1), clicked_at_ms: t0 + after })
  const settings = { click_ms: 1, probabilistic: true, probabilistic_ms: day_ms }
  expect(candidatesOf(install({ installed_at_ms: t0, ...given }), [one], settings).length === 1).toBe(expected)
})

const wide = 'ü'.repeat(512)
const wideClick = (n: number, given: Partial<KeptClick> = {}) =>
  click(n, { clicked_at_ms: t0 + n, ...{ sub1: wide, sub2: wide, sub3: wide, sub4: wide, sub5: wide }, ...given })

test('of too many candidates the strongest and nearest stay', () => {
  const many = Array.from({ length: 500 }, (_, n) => wideClick(n))
  const named = click(9999, { clicked_at_ms: t0 - 90 * day_ms, device_hashes: [] })
  const { candidates, verdict } = run({
    install: install({ installed_at_ms: t0 + 400, named_click: { click_id: named.click_id, signature: 'absent' } }),
    clicks: [...many, named],
  })
  expect(candidates).toHaveLength(limits.install_candidates_max)
  expect(verdict?.click_id).toBe(many[400]!.click_id)
  expect(candidates.some(({ click_id }) => click_id === named.click_id)).toBe(true)
})

test('of the clicks after an install the earliest are candidates, whatever comes after them', () => {
  const alike = { ip: '192.0.2.1', os_major: 15 }
  const many = Array.from({ length: 300 }, (_, n) => click(n, { clicked_at_ms: t0 + 2 * hour_ms + n }))
  for (const one of [install(), install({ device_hashes: [], ...alike })]) {
    const earliest = many.slice(0, limits.candidates_after_max).map(({ click_id }) => click_id)
    const { candidates } = run({ install: { ...one, installed_at_ms: t0 + 2 * hour_ms - 1 }, clicks: many })
    expect(candidates.map(({ click_id }) => click_id).toSorted()).toEqual(earliest.toSorted())
  }
})

test.each<[string, Partial<KeptClick>, Partial<InstallFact>]>([
  ['filtered clicks of the device', { filtered_reason: 'bot' }, {}],
  ['filtered clicks of the address', { filtered_reason: 'desktop' }, { ip: '192.0.2.1', device_hashes: [] }],
  ['clicks of another version', { os_major: 13 }, { ip: '192.0.2.1', device_hashes: [] }],
  ['clicks of another model', { model: 'B' }, { ip: '192.0.2.1', device_hashes: [] }],
  ['clicks of the device that are too old for a match', { clicked_at_ms: t0 - 20 * day_ms }, { ip: '192.0.2.1' }],
])('%s do not hide the one that brought the install', (_what, given, clues) => {
  const own = click(9999, { device_hashes: clues.ip === undefined || clues.device_hashes ? ['d'] : [] })
  const noise = Array.from({ length: 300 }, (_, n) => click(n, { clicked_at_ms: t0 + 1 + n, ...given }))
  const one = install({ os_major: 15, model: 'A', ...clues })
  const { verdict, candidates } = run({ install: one, clicks: [...noise, own] })
  expect(verdict?.click_id).toBe(own.click_id)
  expect(candidates.length).toBeLessThanOrEqual(limits.candidates_lost_max + 1)
})

test('a decision keeps few clicks whole, those that may still win, and the winner always', () => {
  const many = Array.from({ length: 500 }, (_, n) => wideClick(n))
  const small = many.map((one) => ({ ...one, sub1: null, sub2: null, sub3: null, sub4: null, sub5: null }))
  const bytesOf = (clicks: readonly KeptClick[]) => Buffer.byteLength(JSON.stringify(clicks))
  const late = { install: install({ installed_at_ms: t0 + 400 }) }
  expect(run({ ...late, clicks: small }).clicks).toHaveLength(limits.kept_clicks_max)
  expect(bytesOf(run({ ...late, clicks: many }).clicks)).toBeLessThan(limits.kept_clicks_bytes_max + 100)
  const huge = wideClick(1, { sub1: '\u0001'.repeat(limits.kept_clicks_bytes_max) })
  expect(run({ clicks: [huge] }).clicks).toHaveLength(1)
  expect(run({ clicks: [click(1, { filtered_reason: 'bot' })] }).clicks).toEqual([])
})

test('what was said of lost clicks stays when they have expired, and only then', () => {
  const referrer = { click_id: idAt(t0, 2), signature: 'valid' as const }
  const clicks = [click(1), click(2, { filtered_reason: 'bot' }), click(3, { clicked_at_ms: t0 + 2 * hour_ms })]
  const given = { install: install({ referrer }), now_ms: t0 + 200 * day_ms }
  const newest = written({ ...given, clicks })
  expect(newest.candidates.map(({ reason }) => reason)).toEqual([null, 'filtered', 'after_install'])
  expect(saysTheSame(run({ ...given, newest, clicks: [] }), newest)).toBe(true)
  const soonAfter = run({ ...given, newest, clicks: [], now_ms: t0 + 3 * hour_ms })
  expect(soonAfter.candidates.map(({ reason }) => reason)).toEqual(['unknown_click', 'weaker_method'])
})

const source = (partner: string, clicks: number, conversions: number) => ({
  partner,
  campaign: null,
  clicks,
  conversions,
})
test.each([
  ['exactly a fifth of the others', [source('f', 1000, 20), source('a', 100, 10)], ['f']],
  ['just above a fifth', [source('f', 1000, 21), source('a', 100, 10)], []],
  ['fewer than 1000 clicks', [source('f', 999, 0), source('a', 100, 10)], []],
  ['no other source', [source('f', 1000, 0)], []],
  ['others with fewer than 100 clicks', [source('f', 1000, 0), source('a', 99, 99)], []],
  ['the mean of two in the middle', [source('f', 1000, 40), source('a', 100, 10), source('b', 100, 30)], ['f']],
  ['above the mean of two in the middle', [source('f', 1000, 41), source('a', 100, 10), source('b', 100, 30)], []],
])('a source floods with %s', (_what, sources, expected) => {
  expect(findFloods(sources).map(({ partner }) => partner)).toEqual(expected)
})

describe('when retention has blanked addresses', () => {
  const phone = { ip: '192.0.2.1', os_major: 15, device_hashes: [] }
  const alike = (n: number, given: Partial<KeptClick> = {}) => click(n, { device_hashes: [], ...given })
  const blankedClick = (given: KeptClick): KeptClick => ({ ...given, ip: '', match_keys: clickKeys(given) })
  const blanked = install({ ...phone, ip: null })
  const flooded = alike(4, { filtered_reason: 'bot', clicked_at_ms: t0 + 1 })

  test('a decision keeps no address, and says the same when it is made again', () => {
    const clicks = [alike(1), alike(2, { clicked_at_ms: t0 - hour_ms }), flooded]
    const newest = written({ install: install(phone), clicks })
    expect(JSON.stringify(newest)).not.toContain('192.0.2.1')
    expect(newest.verdict).toMatchObject({ attribution_type: 'probabilistic', click_id: clicks[0]!.click_id })
    const again = { newest, now_ms: t0 + 40 * day_ms }
    for (const stored of [clicks, clicks.map(blankedClick), []])
      expect(saysTheSame(run({ ...again, install: blanked, clicks: stored }), newest)).toBe(true)
    expect(saysTheSame(run({ ...again, install: install(phone), clicks: clicks.map(blankedClick) }), newest)).toBe(true)
  })

  test('a first decision finds a click whose address was blanked by its keys', () => {
    const clicks = [alike(1), alike(3, { ip: '192.0.2.2' }), alike(5, { model: 'Pixel' })]
    const given = { install: install({ ...phone, model: 'Nokia' }) }
    expect(run({ ...given, clicks: clicks.map(blankedClick) })).toEqual(run({ ...given, clicks }))
  })

  test('an install that lost a click still takes it when it becomes free', () => {
    const clicks = [alike(1)]
    const claims = new Map([[clicks[0]!.click_id, { installed_at_ms: t0 + 1, place: place(9) }]])
    const newest = written({ install: install(phone), clicks, claims })
    expect(newest.verdict?.partner).toBe('organic')
    expect(run({ install: blanked, clicks: [], newest }).verdict).toMatchObject({ attribution_type: 'probabilistic' })
  })

  test('no other click is taken for alike, and another install event is not either', () => {
    const newest = written({ install: install(phone), clicks: [alike(1)] })
    const other = alike(7, { clicked_at_ms: t0 + 2 })
    expect(run({ install: blanked, clicks: [blankedClick(other)], newest }).verdict?.click_id).toBe(alike(1).click_id)
    expect(run({ install: { ...blanked, place: place(5) }, clicks: [], newest }).verdict?.partner).toBe('organic')
  })

  test('flags by address stay', () => {
    const newest = written({ install: install(phone), ...everything })
    const flags = ['datacenter_ip', 'blocked_ip', 'install_burst']
    expect(newest.verdict?.fraud_flags).toEqual(expect.arrayContaining(flags))
    expect(run({ install: blanked, newest }).verdict?.fraud_flags).toEqual(expect.arrayContaining(flags))
    expect(run({ install: install(phone), newest }).verdict?.fraud_flags).not.toContain('install_burst')
  })

  test('a lost candidate stays in the record when the company keeps clicks for a shorter time', () => {
    const lost = click(1, { clicked_at_ms: t0 - 10 * day_ms })
    const newest = written({ clicks: [lost] })
    expect(newest.candidates).toMatchObject([{ outcome: 'lost', reason: 'outside_window' }])
    expect(run({ clicks: [], newest }).candidates).toEqual([])
    expect(run({ clicks: [], newest, clicks_deleted_before_ms: t0 }).candidates).toEqual(newest.candidates)
  })
})
