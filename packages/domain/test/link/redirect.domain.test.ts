import {
  edgeFilter,
  type LinkTarget,
  plainStoreUrl,
  plainTarget,
  redirectOf,
  type Visitor,
} from '@tributary/domain/link/redirect'
import { describe, expect, it, test } from 'vitest'

const android: LinkTarget = {
  ...{ platform: 'android', bundle_id: 'com.example.game', store_id: '', provider_token: null },
  ...{ partner: 'net', campaign: 'summer sale', fallback_url: null, countries: null },
}
const ios: LinkTarget = { ...android, platform: 'ios', bundle_id: '', store_id: '123456789' }
const phone: Visitor = { agent: 'android', datacenter: false, country: 'DE', mobile_only: false }
const token = '0198c2f0-1c00-7abc-8abc-0123456789ab.0123456789ab'

describe('the edge filter', () => {
  test.each<[Partial<LinkTarget>, Partial<Visitor>, string | null]>([
    [{}, {}, null],
    [{}, { agent: 'bot' }, 'bot'],
    [{}, { datacenter: true }, 'datacenter'],
    [{ countries: ['DE', 'FR'] }, {}, null],
    [{ countries: ['FR'] }, {}, 'country'],
    [{ countries: ['FR'] }, { country: null }, 'country'],
    [{ countries: ['FR'] }, { agent: 'bot', datacenter: true }, 'bot'],
    [{ countries: ['FR'] }, { datacenter: true }, 'datacenter'],
  ])('%j with %j: %s', (target, visitor, reason) => {
    expect(edgeFilter({ ...android, ...target }, { ...phone, ...visitor })).toBe(reason)
  })
})

describe('where a click leads', () => {
  it('is the Play store with a referrer that the app gets back', () => {
    const { location, filtered_reason } = redirectOf(android, phone, token)
    const url = new URL(location!)
    expect([url.origin + url.pathname, url.searchParams.get('id'), filtered_reason]).toEqual([
      'https://play.google.com/store/apps/details',
      'com.example.game',
      null,
    ])
    expect(url.searchParams.get('referrer')).toBe(`utm_source=net&utm_campaign=summer%20sale&tb_click=${token}`)
  })

  it('has a referrer without a campaign that the link does not have', () => {
    const { location } = redirectOf({ ...android, campaign: null }, phone, token)
    expect(new URL(location!).searchParams.get('referrer')).toBe(`utm_source=net&tb_click=${token}`)
  })

  it('is the App Store with a campaign of at most 30 characters once a provider is known', () => {
    const iphone: Visitor = { ...phone, agent: 'ios' }
    expect(redirectOf(ios, iphone, token).location).toBe('https://apps.apple.com/app/id123456789')
    const { location } = redirectOf({ ...ios, provider_token: '77', campaign: 'x'.repeat(40) }, iphone, token)
    const { searchParams } = new URL(location!)
    expect(Object.fromEntries(searchParams)).toEqual({ pt: '77', ct: `net.${'x'.repeat(26)}`, mt: '8' })
  })

  test.each<[string, LinkTarget, Partial<Visitor>, string | null, string | null]>([
    [
      'a desktop to the fallback',
      { ...android, fallback_url: 'https://example.com/' },
      { agent: 'desktop' },
      'https://example.com/',
      'desktop',
    ],
    ['a desktop to the store page', android, { agent: 'desktop' }, plainStoreUrl(android), 'desktop'],
    ['a desktop nowhere with mobile_only', android, { agent: 'desktop', mobile_only: true }, null, 'desktop'],
    [
      'an iPhone to the page of the Android app',
      android,
      { agent: 'ios' },
      plainStoreUrl(android),
      'platform_mismatch',
    ],
    [
      'an Android phone to the fallback of an iOS app',
      { ...ios, fallback_url: 'https://example.com/a' },
      {},
      'https://example.com/a',
      'platform_mismatch',
    ],
  ])('sends %s', (_what, target, visitor, location, filtered_reason) => {
    expect(redirectOf(target, { ...phone, ...visitor }, token)).toEqual({ location, filtered_reason })
  })
})

describe('a visitor whose click is stopped', () => {
  const fallback_url = 'https://example.com/'
  const nowhere = { bundle_id: null, store_id: null }
  const play = 'https://play.google.com/store/apps/details?id=com.example.game'
  const apple = 'https://apps.apple.com/app/id123456789'

  test.each<[string, Partial<LinkTarget>, Visitor['agent'], string | null]>([
    ['a phone to its store', { fallback_url }, 'android', play],
    ['a program to the store', { fallback_url }, 'bot', play],
    ['a phone of the other platform to the fallback', { fallback_url }, 'ios', fallback_url],
    ['a phone of the other platform to the store without one', {}, 'ios', play],
    ['a desktop to the fallback', { fallback_url }, 'desktop', fallback_url],
    ['a desktop to the store without one', {}, 'desktop', play],
    ['an iPhone to its store, without the campaign', { ...ios, provider_token: '7', fallback_url }, 'ios', apple],
    ['a phone to the fallback when the app lost its page', { ...nowhere, fallback_url }, 'android', fallback_url],
    ['an iPhone to the fallback then', { ...ios, ...nowhere, fallback_url }, 'ios', fallback_url],
    ['nobody anywhere without page and fallback', nowhere, 'android', null],
    ['an empty id is none', { ...ios, store_id: '' }, 'ios', null],
  ])('%s', (_what, change, agent, location) => {
    expect(plainTarget({ ...android, ...change }, agent)).toBe(location)
  })
})
