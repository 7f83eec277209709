import type { Click } from '@tributary/contracts/attribution/click'
import type { AliasFact, InstallFact } from '@tributary/contracts/attribution/found'
import { addressBlock, addressNetwork } from '@tributary/contracts/networks'
import { isAlike } from '@tributary/domain/attribute/match-click'
import { clickKeys, factKeys, type MatchKind, matchKey } from '@tributary/domain/attribute/match-keys'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const place = { topic: 't@1', partition: 0, offset: 0, index: 0 }
const nothing = { ext_click_id: null, sub1: null, sub2: null, sub3: null, sub4: null, sub5: null }
const clickOf = (given: Partial<Click>): Click => ({
  ...{ v: 1, click_id: '0198c2f0-1c00-7abc-8abc-0123456789ab', company_id: 'c', app_id: 'a', link_id: 'l' },
  ...{
    partner: 'p',
    campaign: null,
    ad_group: null,
    creative: null,
    deep_link: null,
    lookback_hours: null,
    ...nothing,
  },
  ...{ clicked_at_ms: 1, filtered_reason: null, ip: '192.0.2.1', country: null, user_agent: '', os: null },
  ...{ os_major: null, model: null, device_hashes: [], ...given },
})
const installOf = (given: Partial<InstallFact>): InstallFact => ({
  ...{ kind: 'install', v: 1, company_id: 'c', app_id: 'a', install_uuid: 'i', received_at_ms: 1, place },
  ...{ event_name: 'app_install', is_sdk: true, platform: 'android', installed_at_ms: 1, ip: null, os_major: null },
  ...{ model: null, device_hashes: [], user_id: null, referrer: null, named_click: null },
  ...{ referrer_click_server_s: null, install_begin_server_s: null, ...given },
})
const aliasOf = (user_id: string): AliasFact => ({
  ...{ kind: 'alias', v: 1, company_id: 'c', app_id: 'a', install_uuid: 'j', received_at_ms: 1, place, user_id },
})

const address = fc.oneof(fc.ipV4(), fc.ipV6())
const digest = fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 64, maxLength: 64 })
const devices = fc.uniqueArray(digest, { maxLength: 4 })
const user = fc.option(fc.string({ minLength: 1 }))
const looks = { os_major: fc.constantFrom(null, 1, 11), model: fc.constantFrom(null, '1', 'A') }
const clicks = fc.record({ device_hashes: devices, ip: address, ...looks })
const installs = fc.record({
  ...{ device_hashes: devices, ip: fc.option(address), user_id: user, is_sdk: fc.boolean(), ...looks },
})
const intersect = (a: readonly string[], b: readonly string[]) => a.filter((key) => b.includes(key))

test('a click and an install share a key for each device id that they share, and one more if they are alike', () => {
  fc.assert(
    fc.property(clicks, installs, devices, fc.boolean(), (clicked, installed, shared, same) => {
      const click = clickOf({ ...clicked, device_hashes: [...new Set([...clicked.device_hashes, ...shared])] })
      const ip = same ? click.ip : installed.ip
      const install = installOf({
        ...{ ...installed, ip },
        device_hashes: [...new Set([...shared, ...installed.device_hashes])],
      })
      const common = intersect(clickKeys(click), factKeys(install))
      const ofDevices = intersect(click.device_hashes, install.device_hashes).map((one) => matchKey('device', one))
      expect(intersect(common, ofDevices).toSorted()).toEqual(ofDevices.toSorted())
      expect(common.length - ofDevices.length).toBe(Number(isAlike(install, click)))
    }),
  )
})

test('an install is found by each click that it names', () => {
  fc.assert(
    fc.property(fc.uuid({ version: 7 }), fc.uuid({ version: 7 }), (referred, named) => {
      const keys = factKeys(
        installOf({
          referrer: { click_id: referred, signature: 'valid' },
          named_click: { click_id: named, signature: 'absent' },
        }),
      )
      expect(keys).toEqual([...new Set([referred, named])].map((click_id) => matchKey('click', click_id)))
    }),
  )
})

test('an install and an alias share a key when they tell the same user', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (user_id, other) => {
      const shared = intersect(factKeys(installOf({ user_id })), factKeys(aliasOf(other)))
      expect(shared).toEqual(user_id === other ? [matchKey('user', user_id)] : [])
    }),
  )
})

test('a hit of a honeypot is found by the SDK installs of its block, and matches nothing else', () => {
  fc.assert(
    fc.property(address, address, fc.boolean(), devices, (hit, ip, is_sdk, device_hashes) => {
      const keys = clickKeys(clickOf({ filtered_reason: 'honeypot', ip: hit, device_hashes }))
      const shared = intersect(keys, factKeys(installOf({ ip, is_sdk, device_hashes })))
      const isBlocked = is_sdk && addressBlock(hit) === addressBlock(ip)
      expect(shared).toEqual(isBlocked ? [matchKey('block', addressBlock(hit))] : [])
    }),
  )
})

test('a honeypot that a page embeds blocks nobody, and is found as any other filtered click', () => {
  fc.assert(
    fc.property(address, devices, (ip, device_hashes) => {
      const keys = clickKeys(clickOf({ filtered_reason: 'honeypot_embed', ip, device_hashes }))
      expect(keys).not.toContain(matchKey('block', addressBlock(ip)))
      expect(keys).toEqual(clickKeys(clickOf({ filtered_reason: 'bot', ip, device_hashes })))
    }),
  )
})

test('SDK installs of one network find each other by it, those of a backend do not', () => {
  fc.assert(
    fc.property(address, fc.boolean(), (ip, is_sdk) => {
      expect(factKeys(installOf({ ip, is_sdk })).includes(matchKey('network', addressNetwork(ip)))).toBe(is_sdk)
    }),
  )
})

test('values of two kinds have two keys, and each is an unsigned 64-bit number', () => {
  const kinds: MatchKind[] = ['click', 'device', 'user', 'address', 'address_model', 'network', 'block']
  fc.assert(
    fc.property(fc.string(), (value) => {
      const keys = kinds.map((kind) => matchKey(kind, value))
      expect(new Set(keys).size).toBe(kinds.length)
      for (const key of keys) expect(BigInt(key) >= 0n && BigInt(key) < 2n ** 64n).toBe(true)
    }),
  )
})
