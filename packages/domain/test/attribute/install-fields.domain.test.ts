import { type Fact, Found, type InstallFact, isFact } from '@tributary/contracts/attribution/found'
import { readClickToken, signClickId } from '@tributary/domain/attribute/click-token'
import { type EnvelopeHead, findFact } from '@tributary/domain/attribute/install-facts'
import { factKeys } from '@tributary/domain/attribute/match-keys'
import { playStoreUrl, tokenOfReferrer } from '@tributary/domain/link/play-referrer'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'

const secrets = { link_secret: Buffer.alloc(32, 1), salt: Buffer.alloc(32, 2) }
const place = { topic: 't@1', partition: 3, offset: 7, index: 2 }
const click_id = '0198c2f0-1c00-7abc-8abc-0123456789ab'
const signed = signClickId(click_id, secrets.link_secret)
const now_ms = Date.UTC(2026, 5, 1)
const hour_ms = 3_600_000

const head: EnvelopeHead = {
  ...{ company_id: 'co', app_id: 'app', platform: 'android', source: 'sdk', install_uuid: 'i' },
  ...{ received_at_ms: now_ms, ip: '192.0.2.1', user_agent: '', sdk: '', sdk_platform: '', audit_key: '' },
}
const find = (event: object, given: Partial<EnvelopeHead> = {}): Fact | null =>
  findFact({ ...head, ...given }, { event_name: 'app_install', event_ts_ms: now_ms, ...event }, place, secrets)
const install = (event: object, given: Partial<EnvelopeHead> = {}) => find(event, given) as InstallFact

test('whatever an accepted event holds, its fact is one that every reader takes, of bounded size', () => {
  const anything = fc.dictionary(
    fc.constantFrom(
      ...['install_referrer', 'referrer_click_server_s', 'install_begin_server_s', 'click_id', 'identity_migration'],
      ...['os', 'os_version', 'model', 'gaid', 'idfa', 'idfv', 'app_set_id', 'ip', '__proto__', 'toString'],
    ),
    fc.oneof(fc.jsonValue(), fc.constantFrom(signed, click_id, '7', 7, '2001:DB8::1', 'x'.repeat(16_000))),
  )
  const event = fc.record(
    {
      event_name: fc.constantFrom('app_install', 'app_first_open', '_user_alias', 'level_up'),
      ...{ props: fc.option(anything), device: fc.option(anything) },
      user_id: fc.option(fc.string({ unit: 'binary', maxLength: 256 })),
      event_ts_ms: fc.option(fc.integer({ min: now_ms - hour_ms, max: now_ms + hour_ms })),
    },
    { requiredKeys: ['event_name'] },
  )
  const envelope = fc.record({
    source: fc.constantFrom('sdk' as const, 's2s' as const, 'bulk' as const),
    ip: fc.constantFrom('', '192.0.2.1', 'unknown'),
  })
  let found = 0
  fc.assert(
    fc.property(event, envelope, (sent, given) => {
      const logged = JSON.parse(JSON.stringify(sent))
      const fact = findFact({ ...head, ...given }, logged, place, secrets)
      if (fact === null) return
      found += 1
      expect(isFact(sent.event_name)).toBe(true)
      expect(Found.parse(JSON.parse(JSON.stringify(fact)))).toEqual(fact)
      expect(JSON.stringify(fact).length).toBeLessThan(6000)
      expect(factKeys(fact).length).toBeLessThan(12)
    }),
    { numRuns: 1000 },
  )
  expect(found).toBeGreaterThan(300)
})

describe('the Play referrer', () => {
  it('brings back the click of a link, whatever partner and campaign hold', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 128 })
    fc.assert(
      fc.property(text, text, (partner, campaign) => {
        // Play decodes the parameter of its page once and gives that to the app.
        const url = playStoreUrl('com.example.game', { partner, campaign, token: signed })
        const install_referrer = new URL(url).searchParams.get('referrer')!
        expect(install({ props: { install_referrer } }).referrer).toEqual({ click_id, signature: 'valid' })
        const fields = new URLSearchParams(install_referrer)
        expect([fields.get('utm_source'), fields.get('utm_campaign')]).toEqual([partner, campaign])
      }),
    )
  })

  test.each([
    ['utm_source=google-play&utm_medium=organic', null],
    ['', null],
    ['tb_click=', null],
    ['tb_click', null],
    ['tb_click=x', null],
    ['gclid=%', null],
    [`tb_click=${click_id}`, 'absent'],
    [`tb_click=${click_id}.0123456789ab`, 'forged'],
    [`%=%zz&tb_click=${signed}&utm_source=%ff`, 'valid'],
    [`xtb_click=${signed}`, null],
  ])('%j shows a signature that is %j', (install_referrer, signature) => {
    const expected = signature === null ? null : { click_id, signature }
    expect(install({ props: { install_referrer } }).referrer).toEqual(expected)
  })

  it('has room for a name that is not well-formed', () => {
    const url = playStoreUrl('com.example.game', { partner: 'p', campaign: 'a\ud800', token: signed })
    expect(new URLSearchParams(new URL(url).searchParams.get('referrer')!).get('utm_campaign')).toBe('a\ufffd')
  })

  it('is no referrer when it is no text', () => {
    for (const install_referrer of [null, 7, true, {}, [`tb_click=${signed}`]])
      expect(install({ props: { install_referrer } }).referrer).toBeNull()
    expect(tokenOfReferrer(`tb_click=${signed}&tb_click=other`)).toBe(signed)
  })
})

test('a click id is told from a forged one by every digit of its signature', () => {
  const [, signature = ''] = signed.split('.')
  fc.assert(
    fc.property(fc.nat({ max: signature.length - 1 }), fc.constantFrom(...'0123456789abcdefAF'), (at, digit) => {
      const changed = `${signature.slice(0, at)}${digit}${signature.slice(at + 1)}`
      const expected = changed === signature ? 'valid' : 'forged'
      expect(readClickToken(`${click_id}.${changed}`, secrets.link_secret)).toEqual({ click_id, signature: expected })
    }),
  )
})

test('the click of a deep link is read signed or bare', () => {
  expect(install({ props: { click_id: signed } }).named_click).toEqual({ click_id, signature: 'valid' })
  expect(install({ props: { click_id } }).named_click).toEqual({ click_id, signature: 'absent' })
  expect(install({ props: { click_id: 'their-own-id' } }).named_click).toBeNull()
})

test.each([
  [1_780_000_000, 1_780_000_000],
  ['1780000000', 1_780_000_000],
  [0, null],
  ['0', null],
  [-1, null],
  [1.5, null],
  ['', null],
  ['1e9', null],
  [' 7', null],
  ['9'.repeat(16), null],
  [true, null],
  [{}, null],
])("Play's timestamp %j is %j", (sent, expected) => {
  const { referrer_click_server_s, install_begin_server_s } = install({
    props: { referrer_click_server_s: sent, install_begin_server_s: sent },
  })
  expect([referrer_click_server_s, install_begin_server_s]).toEqual([expected, expected])
})

test.each([
  ['17.4.1', 17],
  [' 15 ', 15],
  ['14 (UP1A)', 14],
  [17.4, 17],
  ['15-beta', null],
  ['v15', null],
  [true, null],
  [[15], null],
  [{ toString: 1 }, null],
])('the system version %j has the major version %j', (os_version, os_major) => {
  expect(install({ device: { os_version } }).os_major).toBe(os_major)
})

test('a model is compared without the space around it, and not beyond its 256th character', () => {
  expect(install({ device: { model: ' Pixel 9\n' } }).model).toBe('Pixel 9')
  expect(install({ device: { model: '  ' } }).model).toBeNull()
  expect(install({ device: { model: 7 } }).model).toBeNull()
  expect(install({ device: { model: 'x'.repeat(1000) } }).model).toBe('x'.repeat(256))
  expect(install({ device: { model: `${'x'.repeat(255)}😀` } }).model).toBe(`${'x'.repeat(255)}\ufffd`)
})

describe('the address of an install', () => {
  const backend = { source: 's2s' } as const
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:C000:0201', '192.0.2.1'],
    ['2001:DB8:0:0::1', '2001:db8::1'],
    ['2001:0db8:0000:0000:0000:0000:0000:0001', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['192.0.2.1:443', null],
    ['192.0.2', null],
    ['256.0.0.1', null],
    [' 192.0.2.1', null],
    ['unknown', null],
    ['', null],
    [7, null],
    [{}, null],
  ])('%j is %j', (ip, expected) => {
    expect(install({ device: { ip } }, backend).ip).toBe(expected)
    if (typeof ip === 'string') expect(install({}, { ip }).ip).toBe(expected)
  })

  it("is the sender's for an SDK and never for a backend", () => {
    expect(install({ device: { ip: '198.51.100.7' } }).ip).toBe('192.0.2.1')
    for (const source of ['s2s', 'bulk'] as const) expect(install({}, { source }).ip).toBeNull()
  })
})

test.each<[string, object, Partial<EnvelopeHead>, number]>([
  ['an SDK, its clock slow by an hour', { event_ts_ms: now_ms - 2 * hour_ms }, { sent_at_ms: now_ms - hour_ms }, -1],
  ['an SDK, its clock fast by an hour', { event_ts_ms: now_ms }, { sent_at_ms: now_ms + hour_ms }, -1],
  ['an SDK whose clock is too wrong', { event_ts_ms: now_ms - hour_ms }, { sent_at_ms: now_ms - 25 * hour_ms }, -1],
  ['an SDK that tells the future', { event_ts_ms: now_ms + hour_ms }, {}, 0],
  ['an SDK event without a time', { event_ts_ms: null }, { sent_at_ms: now_ms + hour_ms }, 0],
  ['a backend', { event_ts_ms: now_ms - 3 * hour_ms }, { source: 's2s', sent_at_ms: now_ms - hour_ms }, -3],
  ['a backfill of the future', { event_ts_ms: now_ms + hour_ms }, { source: 'bulk' }, 0],
])('the install time of %s', (_who, event, given, hours) => {
  expect(install(event, given).installed_at_ms).toBe(now_ms + hours * hour_ms)
})

describe('what is a fact', () => {
  test.each(['app_install', 'app_first_open'])('%s, but not of a migration of identities', (event_name) => {
    expect(find({ event_name })?.kind).toBe('install')
    expect(find({ event_name, props: { identity_migration: true } })).toBeNull()
    for (const identity_migration of [false, 'true', 1, null])
      expect(find({ event_name, props: { identity_migration } })?.kind).toBe('install')
  })

  it('an alias, when it names a user', () => {
    expect(find({ event_name: '_user_alias', user_id: 'u\ud800' })).toEqual({
      ...{ kind: 'alias', v: 1, company_id: 'co', app_id: 'app', install_uuid: 'i', received_at_ms: now_ms, place },
      user_id: 'u\ufffd',
    })
    for (const user_id of [null, '', undefined]) expect(find({ event_name: '_user_alias', user_id })).toBeNull()
  })

  test.each(['APP_INSTALL', 'app_install ', 'level_up', 'user_alias'])('never %j', (event_name) => {
    expect(isFact(event_name)).toBe(false)
    expect(find({ event_name, user_id: 'u' })).toBeNull()
  })
})
