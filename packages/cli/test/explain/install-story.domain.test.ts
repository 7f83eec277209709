import type { Candidate } from '@tributary/contracts/attribution/verdict'
import type { InstallRecord } from '@tributary/contracts/install-record'
import { expect, test } from 'vitest'
import { installStory } from '../../src/explain/install-story.ts'

const installed_at_ms = Date.UTC(2026, 5, 1, 12)
const minute_ms = 60_000
const hour_ms = 60 * minute_ms

const clickOf = (n: number, before_ms: number, more: Partial<Candidate>): Candidate => ({
  ...{ click_id: `01970000-0000-7000-8000-0000000000a${n}`, partner: 'adnet', method: 'install_referrer' },
  ...{ clicked_at_ms: installed_at_ms - before_ms, outcome: 'lost', reason: null },
  ...more,
})
const organic: NonNullable<InstallRecord['verdict']> = {
  ...{ partner: 'organic', attribution_type: 'organic', campaign: null, link_id: null, click_id: null },
  ...{ ext_click_id: null, sub1: null, sub2: null, sub3: null, sub4: null, sub5: null },
  ...{ reinstall: false, fraud_flags: [], deep_link: null },
}
const adnet: typeof organic = {
  ...{ ...organic, partner: 'adnet', attribution_type: 'install_referrer', campaign: 'spring', link_id: 'lnk_1' },
  click_id: '01970000-0000-7000-8000-0000000000a1',
}
const record = (more: Partial<InstallRecord>): InstallRecord => ({
  ...{ app_id: 'app_0a1b2c3d4e5f60718293', install_uuid: '0b8f5c1e-2f64-4c7b-a1de-93f1f5f0a9c3', installed_at_ms },
  ...{ verdict: organic, rule_version: 1, candidates: [], pending: false, history: [], identities: [], receipts: [] },
  windows: { click_hours: 168, probabilistic_hours: 24, reinstall_days: 90 },
  ...more,
})
const undecided = { verdict: null, rule_version: null, windows: null }

const stories: Record<string, InstallRecord> = {
  'a partner wins over others': record({
    verdict: { ...adnet, ext_click_id: 'p-77', sub1: 'banner', deep_link: 'mygame://gift/17' },
    candidates: [
      clickOf(1, 20 * minute_ms, { outcome: 'won' }),
      clickOf(2, 3 * hour_ms, { reason: 'older_click' }),
      clickOf(3, minute_ms, { partner: 'bignet', method: 'device_id', reason: 'weaker_method' }),
      clickOf(4, 9 * 24 * hour_ms, { partner: 'bignet', method: 'device_id', reason: 'outside_window' }),
      clickOf(5, -minute_ms, { partner: 'latenet', method: 'probabilistic', reason: 'after_install' }),
      clickOf(6, 2 * hour_ms, { partner: 'bignet', method: 'device_id', reason: 'click_already_used' }),
      clickOf(7, 2 * hour_ms, { partner: 'botnet', method: 'probabilistic', reason: 'filtered' }),
    ],
    identities: [{ user_id: 'user-17', since_ms: installed_at_ms + 90_000 }],
  }),
  'an organic install without clicks': record({}),
  'an install with receipts': record({
    receipts: [
      {
        ...{ store: 'apple', product_id: 'pro.yearly', transaction_id: '2000000123456789', verdict: 'valid' },
        ...{ reason: null, price_source: 'store', judged_at_ms: installed_at_ms + hour_ms },
      },
      {
        ...{ store: 'google', product_id: null, transaction_id: null, verdict: 'unverified', reason: 'no_credentials' },
        ...{ price_source: 'event', judged_at_ms: installed_at_ms + 2 * hour_ms },
      },
      {
        ...{ store: null, product_id: null, transaction_id: null, verdict: 'invalid', reason: 'malformed' },
        ...{ price_source: null, judged_at_ms: installed_at_ms + 3 * hour_ms },
      },
    ],
  }),
  'two partners that cannot be told apart': record({
    candidates: [
      clickOf(1, 5000, { method: 'probabilistic', reason: 'ambiguous' }),
      clickOf(2, 9000, { partner: 'bignet', method: 'probabilistic', reason: 'ambiguous' }),
    ],
    windows: { click_hours: 6, probabilistic_hours: null, reinstall_days: 1 },
  }),
  'a forged click id': record({
    verdict: { ...organic, fraud_flags: ['forged_click', 'install_burst'] },
    candidates: [
      clickOf(1, 5000, { reason: 'bad_signature' }),
      clickOf(2, 9000, { method: 'device_id', reason: 'weaker_method' }),
      clickOf(3, 9000, { reason: 'unsigned' }),
      clickOf(4, 9000, { partner: null, method: 'click_id', reason: 'unknown_click' }),
    ],
  }),
  'a flagged reinstall whose verdict changed': record({
    verdict: { ...adnet, reinstall: true, fraud_flags: ['fast_install', 'click_flooding'] },
    candidates: [clickOf(1, 4321, { outcome: 'won' })],
    history: [
      { ...organic, decided_at_ms: installed_at_ms + 2000 },
      { ...adnet, partner: 'bignet', campaign: null, decided_at_ms: installed_at_ms + hour_ms },
    ],
  }),
  'an install that waits for its click': record({
    ...{ verdict: null, pending: true },
    candidates: [
      clickOf(1, 5000, { partner: null, reason: 'unknown_click' }),
      clickOf(2, 9000, { method: 'device_id', reason: 'weaker_method' }),
    ],
    history: [{ ...organic, decided_at_ms: installed_at_ms + 2000 }],
  }),
  'an install that is not decided yet': record(undecided),
  'an install without an install event': record({
    ...{ ...undecided, installed_at_ms: null },
    identities: [{ user_id: 'ana', since_ms: installed_at_ms }],
  }),
}

test.for(Object.entries(stories))('tells the story of %s', ([, told]) => {
  const story = installStory(told, 80)
  expect(story).toMatchSnapshot()
  for (const line of story.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
})

test('a waiting install is not called decided', () => {
  const story = installStory(stories['an install that waits for its click']!, 80)
  expect(story).toContain('Not decided yet')
  expect(story).not.toContain('Decided by')
})

test('no window is claimed that may be another: a link may have its own', () => {
  const lost = clickOf(4, 9 * 24 * hour_ms, { reason: 'outside_window' })
  const story = installStory(record({ candidates: [lost] }), 400)
  expect(story).toContain('It lost: it came too long before the install for its window')
  expect(story).not.toContain('Its window is')
})

test('long words, control characters and long lists keep the story readable', () => {
  const story = installStory(
    record({
      verdict: { ...adnet, campaign: `a\u001b[31m${'x'.repeat(128)}`, ext_click_id: 'y'.repeat(512) },
      candidates: Array.from({ length: 200 }, (_, n) => clickOf(1, n + 1, { reason: 'older_click' })),
      identities: Array.from({ length: 21 }, (_, n) => ({ user_id: `u${n}`, since_ms: installed_at_ms })),
    }),
    40,
  )
  const lines = story.split('\n')
  expect(lines.filter((line) => line.length > 40)).toEqual([])
  expect(story).not.toContain('\u001b')
  expect(lines.length).toBeLessThan(200)
  expect(story).toContain('180 more')
  expect(story).toContain('1 more')
})
