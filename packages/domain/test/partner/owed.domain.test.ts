import type { Verdict } from '@tributary/contracts/attribution/verdict'
import { day_ms } from '@tributary/contracts/limits'
import { expect, test } from 'vitest'
import {
  type CountedEvent,
  type DecidedInstall,
  owedOf,
  type SettingsAt,
  type SettingsVersion,
} from '../../src/partner/owed.ts'

const t0 = Date.UTC(2026, 5, 1)
const verdict = (partner: string, more: Partial<Verdict> = {}): Verdict => ({
  ...{ partner, attribution_type: partner === 'organic' ? 'organic' : 'click_id', campaign: null, link_id: 'l' },
  ...{ click_id: 'c', ext_click_id: 'ext', sub1: null, sub2: null, sub3: null, sub4: null, sub5: null },
  ...{ reinstall: false, fraud_flags: [], ...more },
})
/** Decided some seconds after `t0`, for an install of `t0`. */
const decided = (seconds: number, of: Verdict | null): DecidedInstall => ({
  ...{ app_id: 'app', install_uuid: 'i', installed_at_ms: t0, received_at_ms: t0, decided_at_ms: t0 + seconds * 1000 },
  verdict: of,
})
const event = (seconds: number, event_name = 'purchase'): CountedEvent => ({
  ...{ event_key: `${event_name}-${seconds}`, event_name, event_ts_ms: t0 + seconds * 1000 },
  ...{ corrected_ts_ms: t0 + seconds * 1000, received_at_ms: t0 + seconds * 1000, dated_at_ms: t0 + seconds * 1000 },
  ...{ revenue: 2, currency: 'EUR' },
})
const settings: SettingsVersion = {
  ...{
    settings_id: '1',
    postback_url: 'https://e.com/',
    method: 'GET',
    events: ['install', 'purchase'],
    flagged: 'skip',
  },
}
const owed = (
  decisions: DecidedInstall[],
  events: CountedEvent[] = [],
  { settingsAt = ((): SettingsVersion | null => settings) as SettingsAt, now_ms = t0 + 60_000 } = {},
) => owedOf({ decisions, events, settingsAt, now_ms }).map(({ partner, event_key }) => `${partner} ${event_key}`)

test('the newest partner is owed the install, and each event goes to the partner that was newest when it came', () => {
  const decisions = [decided(1, verdict('a')), decided(5, verdict('b'))]
  expect(owed(decisions, [event(0), event(3), event(5), event(9)])).toEqual([
    ...['b install', 'a purchase-0', 'a purchase-3', 'b purchase-5', 'b purchase-9'],
  ])
})

test('a partner that comes after organic is owed no event of before', () => {
  expect(owed([decided(1, verdict('organic')), decided(5, verdict('a'))], [event(0), event(3), event(7)])).toEqual([
    ...['a install', 'a purchase-7'],
  ])
})

test.each([
  ['organic', verdict('organic')],
  ['a reinstall', verdict('a', { reinstall: true })],
  ['an imported install', verdict('a', { attribution_type: 'imported' })],
  ['a flagged install', verdict('a', { fraud_flags: ['fast_install'] })],
  ['an install that waits for its click', null],
])('nothing is owed for %s', (_what, of) => {
  expect(owed([decided(1, of)], [event(2)])).toEqual([])
})

test('a flagged install is owed with its flags where the settings say so', () => {
  const flagged = decided(1, verdict('a', { fraud_flags: ['fast_install', 'datacenter_ip'] }))
  const settingsAt = () => ({ ...settings, flagged: 'send' as const })
  const all = owedOf({ decisions: [flagged], events: [event(2)], settingsAt, now_ms: t0 + 60_000 })
  expect(all.map(({ content }) => content.reject_reason)).toEqual(Array(2).fill('fast_install,datacenter_ip'))
})

test('an install that waits again takes its partner nothing that it was owed, and adds nothing', () => {
  expect(owed([decided(1, verdict('a')), decided(5, null)], [event(3)])).toEqual(['a purchase-3'])
})

test('an event of before its install, and one with another name, is not owed', () => {
  expect(owed([decided(1, verdict('a'))], [event(-5), event(2, 'level_up')])).toEqual(['a install'])
})

test('an event that an app itself names `install` is not told as a second install', () => {
  expect(owed([decided(1, verdict('a'))], [event(2, 'install'), event(3)])).toEqual(['a install', 'a purchase-3'])
})

test('settings act on what is decided after them, and a decision that changes no partner is none', () => {
  const settingsAt = (_partner: string, at_ms: number) => (at_ms >= t0 + 3000 ? settings : null)
  expect(owed([decided(1, verdict('a'))], [event(2), event(4)], { settingsAt })).toEqual(['a purchase-4'])
  expect(owed([decided(1, verdict('a')), decided(9, verdict('a'))], [], { settingsAt })).toEqual([])
  expect(owed([decided(3, verdict('a'))], [event(2)], { settingsAt })).toEqual(['a install', 'a purchase-2'])
})

test('nothing is owed more than seven days after its receipt', () => {
  const late = { now_ms: t0 + 7 * day_ms + 5000 }
  expect(owed([decided(1, verdict('a'))], [event(4), event(6)], late)).toEqual(['a purchase-6'])
})
