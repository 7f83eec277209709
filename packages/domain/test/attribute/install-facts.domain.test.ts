import { createHash, createHmac, randomUUID } from 'node:crypto'
import type { Envelope } from '@tributary/contracts/envelope'
import { clickTime, readClickToken, signClickId } from '@tributary/domain/attribute/click-token'
import { deviceHashes } from '@tributary/domain/attribute/device-ids'
import { type FraudEvidence, flagsOf, isBlockedAt } from '@tributary/domain/attribute/fraud'
import { findFact, majorVersion } from '@tributary/domain/attribute/install-facts'
import { isReinstall } from '@tributary/domain/attribute/reinstall'
import type { ClickChoice, InstallClues } from '@tributary/domain/attribute/verdict'
import { playStoreUrl, tokenOfReferrer } from '@tributary/domain/link/play-referrer'
import { describe, expect, it, test } from 'vitest'

const secret = Buffer.alloc(32, 1)
const salt = Buffer.alloc(32, 2)
const click_id = '0198c2f0-1c00-7abc-8abc-0123456789ab'
const day_ms = 24 * 3600 * 1000
const t0 = Date.UTC(2026, 5, 1)

describe('a click id on its way through a store', () => {
  it('comes back signed', () => {
    const url = playStoreUrl('com.example.game', {
      partner: 'p',
      campaign: 'a b&c=d/ä',
      token: signClickId(click_id, secret),
    })
    const referrer = new URL(url).searchParams.get('referrer')!
    expect(new URLSearchParams(referrer).get('utm_campaign')).toBe('a b&c=d/ä')
    expect(readClickToken(tokenOfReferrer(referrer)!, secret)).toEqual({ click_id, signature: 'valid' })
  })

  test.each([
    [click_id, 'absent'],
    [`${click_id}.0123456789ab`, 'forged'],
    [`${click_id}.`, 'forged'],
    [signClickId(click_id, Buffer.alloc(32, 9)), 'forged'],
    [`${signClickId(click_id, secret)}.x`, 'forged'],
    [`${click_id}..`, 'forged'],
    [signClickId(click_id, secret).toUpperCase(), 'forged'],
    [signClickId(click_id.toUpperCase(), secret), 'forged'],
    [signClickId(click_id, secret).replace(click_id, click_id.toUpperCase()), 'forged'],
  ])('tells a signature from none and from a false one: %s', (text, signature) => {
    expect(readClickToken(text, secret)).toEqual({ click_id, signature })
  })

  test.each(['', 'x', '.', randomUUID(), `${randomUUID()}.0123456789ab`, ` ${click_id}.x`, click_id.toUpperCase()])(
    'is no click id of ours: %s',
    (text) => expect(readClickToken(text, secret)).toBeNull(),
  )

  it('holds its time', () => {
    expect(clickTime(click_id)).toBe(0x0198c2f01c00)
  })
})

describe('device ids', () => {
  const idfa = '6D92078A-8246-4BA4-AE5B-76104861E7DC'
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
  const keyed = (digest: string) => createHmac('sha256', salt).update(digest).digest('hex')

  it('are one, however they are written and whether they are hashed already', () => {
    const expected = [keyed(sha256(idfa))]
    for (const id of [idfa, idfa.toLowerCase(), sha256(idfa), sha256(idfa).toUpperCase()])
      expect(deviceHashes({ idfa: id }, salt)).toEqual(expected)
    expect(deviceHashes({ gaid: idfa }, salt)).toEqual([keyed(sha256(idfa.toLowerCase()))])
  })

  it('of zeros alone are none', () => {
    expect(deviceHashes({ idfa: '00000000-0000-0000-0000-000000000000', gaid: '', idfv: 7 }, salt)).toEqual([])
  })
})

const envelope: Envelope = {
  ...{ v: 1, company_id: 'co', app_id: 'app', platform: 'android', source: 'sdk', install_uuid: 'i' },
  ...{ received_at_ms: t0, sent_at_ms: t0 - 1000, ip: '192.0.2.1', user_agent: '', sdk: '', sdk_platform: '' },
  ...{ audit_key: '', events: [] },
}
const place = { topic: 't@1', partition: 3, offset: 7, index: 0 }
const find = (event: object, given: Partial<Envelope> = {}) =>
  findFact({ ...envelope, ...given }, { event_ts_ms: t0 - 5000, ...event }, place, { link_secret: secret, salt })

describe('the facts of an install', () => {
  const props = { click_id, install_begin_server_s: 5, referrer_click_server_s: '6' }
  const device = { os_version: '15.0.1', model: 'Pixel 9', gaid: 'abc', ip: '198.51.100.7' }

  it('of an SDK have its address and its corrected clock', () => {
    expect(find({ event_name: 'app_install', user_id: 'u', props, device })).toMatchObject({
      ...{ event_name: 'app_install', installed_at_ms: t0 - 4000, ip: '192.0.2.1', os_major: 15, model: 'Pixel 9' },
      ...{ user_id: 'u', named_click: { click_id, signature: 'absent' }, referrer: null, place },
      ...{ install_begin_server_s: 5, referrer_click_server_s: 6, is_sdk: true },
    })
  })

  it('of a backend have the address that it tells, never its own', () => {
    const s2s = { source: 's2s' } as const
    expect(find({ event_name: 'app_install', device }, s2s)).toMatchObject({
      ip: '198.51.100.7',
      installed_at_ms: t0 - 5000,
    })
    expect(find({ event_name: 'app_first_open' }, s2s)).toMatchObject({ ip: null, os_major: null })
  })

  it('have the country of their envelope, and none where its gateway looked up none', () => {
    const countryOf = (given: Partial<Envelope>) => {
      const fact = find({ event_name: 'app_install', device, country: 'XX' }, given)
      return fact?.kind === 'install' && 'country' in fact ? fact.country : 'absent'
    }
    expect([countryOf({ country: 'DE' }), countryOf({ country: '' }), countryOf({})]).toEqual(['DE', '', 'absent'])
  })

  it('are in no other event, and in no migration of identities', () => {
    expect(find({ event_name: 'purchase' })).toBeNull()
    expect(find({ event_name: 'app_install', props: { identity_migration: true } })).toBeNull()
  })
})

test.each([
  ['17.4.1', 17],
  ['15', 15],
  [14, 14],
  ['Android 15', null],
  ['', null],
  [null, null],
  ['99999', null],
])('the major version of %j is %j', (version, major) => expect(majorVersion(version)).toBe(major))

const facts: InstallClues & { user_id: string | null } = {
  ...{ install_uuid: 'i', installed_at_ms: t0, received_at_ms: t0 + 10, place, user_id: 'u' },
  ...{ ip: null, os_major: null, model: null, device_hashes: ['d'], referrer: null, named_click: null },
}
const earlier = {
  installed_at_ms: t0 - day_ms,
  place: { topic: 't@1', partition: 0, offset: 1, index: 0 },
  device_hashes: ['e'],
  user_id: null,
  aliases: [],
}
const user = { user_id: 'u', received_at_ms: t0 + 9, place }

test.each([
  ['the same device', { device_hashes: ['d'] }, true],
  ['another device', {}, false],
  ['the same user', { aliases: [user] }, true],
  ['the user of an earlier install event that arrives late', { user_id: 'u' }, true],
  ['a user that was told after the later install', { aliases: [{ ...user, received_at_ms: t0 + 11 }] }, false],
  ['one millisecond inside the window', { device_hashes: ['d'], installed_at_ms: t0 - 90 * day_ms + 1 }, true],
  ['exactly 90 days before', { device_hashes: ['d'], installed_at_ms: t0 - 90 * day_ms }, false],
  ['a later install', { device_hashes: ['d'], installed_at_ms: t0 + 1 }, false],
  [
    'the same millisecond, later in the log',
    { device_hashes: ['d'], installed_at_ms: t0, place: { topic: 't@1', partition: 9, offset: 0, index: 0 } },
    false,
  ],
])('an install is a reinstall after %s: %#', (_what, given, expected) => {
  expect(isReinstall(facts, [{ ...earlier, ...given }], 90 * day_ms)).toBe(expected)
})

test.each([
  ['before the hit', -1, false],
  ['in its millisecond', 0, true],
  ['a millisecond less than a day after it', day_ms - 1, true],
  ['a day after it', day_ms, false],
])('a hit of a honeypot blocks an install that is received %s: %#', (_what, after_ms, blocked) => {
  expect(isBlockedAt(t0 + after_ms, t0)).toBe(blocked)
})

const won = { clicked_at_ms: t0 - 10_000 } as NonNullable<ClickChoice['click']>
const decision: ClickChoice = { click: won, method: 'device_id', pending: false, forged: false, candidates: [] }
const clean: FraudEvidence = {
  ...{ is_sdk: true, referrer_click_server_s: 5, install_begin_server_s: 5, flooded: false },
  ...{ datacenter: false, blocked: false, neighbours_before: 19, crowded: false },
}

test.each<[string, Partial<FraudEvidence>, Partial<ClickChoice>, string[]]>([
  ['a clean install', {}, {}, []],
  ['a click after the install began', { referrer_click_server_s: 6 }, {}, ['click_after_install']],
  ['less than 10 s from the click', {}, { click: { ...won, clicked_at_ms: t0 - 9999 } }, ['fast_install']],
  ['a source that floods', { flooded: true }, {}, ['click_flooding']],
  ['a flooding source that lost', { flooded: true }, { click: null }, []],
  ['addresses', { datacenter: true, blocked: true }, {}, ['datacenter_ip', 'blocked_ip']],
  ['a forged click', {}, { forged: true, click: null }, ['forged_click']],
  ['a crowded device', { crowded: true }, {}, ['crowded_device']],
  ['the 21st install of a network', { neighbours_before: 20 }, {}, ['install_burst']],
  [
    'a backend, which is flagged for a forged click alone',
    { is_sdk: false, datacenter: true, blocked: true, neighbours_before: 99, crowded: true },
    { forged: true },
    ['forged_click'],
  ],
])('%s has its flags', (_what, evidence, given, flags) => {
  expect(flagsOf(facts, { ...decision, ...given }, { ...clean, ...evidence })).toEqual(flags)
})
