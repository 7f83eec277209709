import { Found, type InstallFact } from '@tributary/contracts/attribution/found'
import { findEventFault } from '@tributary/domain/accept/accept-event'
import { faultMessage } from '@tributary/domain/accept/fault-message'
import { findStatingFault } from '@tributary/domain/accept/stated-attribution'
import { attribute } from '@tributary/domain/attribute/attribute'
import { findFact } from '@tributary/domain/attribute/install-facts'
import { installOf } from '@tributary/domain/attribute/install-of'
import { describe, expect, it, test } from 'vitest'

const now_ms = Date.UTC(2026, 5, 1)
const secrets = { link_secret: Buffer.alloc(32, 1), salt: Buffer.alloc(32, 2) }
const stated = {
  partner: 'Adnet',
  campaign: 'spring',
  ad_group: 'g',
  creative: 'k',
  country: 'de',
  sub2: 'x',
  source: 'appsflyer',
}
const event = (given: object = {}) => ({
  ...{ event_name: 'app_install', event_id: 'e', install_uuid: 'i', event_ts_ms: now_ms, attribution: stated },
  ...given,
})
const fact = (given: object = {}, offset = 1, envelope: object = { states_attribution: true }) =>
  findFact(
    {
      ...{ company_id: 'co', app_id: 'app', platform: 'android', source: 'bulk', install_uuid: 'i' },
      ...{ received_at_ms: now_ms, ip: '192.0.2.1', user_agent: '', sdk: '', sdk_platform: '', audit_key: '' },
      ...envelope,
    },
    event(given),
    { topic: 'events.accepted.v1@a', partition: 0, offset, index: 0 },
    secrets,
  ) as InstallFact
const decided = (install: InstallFact) =>
  attribute({
    ...{ install, clicks: [], claims: new Map(), others: [], crowds: new Map(), newest: null, now_ms },
    windows: { click_hours: 168, probabilistic_hours: 24, reinstall_days: 90 },
    ...{ isErasedClick: () => false, isFlooded: () => true, datacenter: true, blocked: true, neighbours_before: 99 },
    clicks_deleted_before_ms: 0,
  })

describe('an event that states an attribution', () => {
  test.each<[string, object]>([
    ['no partner', { partner: undefined }],
    ['a partner that no link can have', { partner: 'Facebook Ads' }],
    ['a campaign that is too long', { campaign: 'x'.repeat(129) }],
    ['a campaign that is no text', { campaign: 7 }],
    ['a country that is none', { country: 'UK' }],
    ['a sub that is too long', { sub5: 'x'.repeat(513) }],
    ['a time that is none', { attributed_at_ms: '2026-06-01' }],
    ['no source', { source: '' }],
    ['a field that is not known', { adgroup: 'g' }],
  ])('is rejected with %s, and a key without the right may send it as a field like any', (_what, given) => {
    const sent = event({ attribution: { ...stated, ...given } })
    const fault = { reason: 'invalid_field' as const, field: 'attribution' }
    expect(findStatingFault(sent, 'bulk', now_ms)).toEqual(fault)
    expect(faultMessage(fault, sent)).toMatch(/^attribution: \w+ has a wrong form/)
    expect(findEventFault(sent, 'bulk', now_ms)).toBeNull()
    expect(fact({ attribution: sent.attribution }).stated).toBeUndefined()
  })

  it('is rejected where it is no app_install, or states no object', () => {
    for (const given of [{ event_name: 'app_first_open' }, { attribution: [] }, { attribution: 'adnet' }])
      expect(findStatingFault(event(given), 'bulk', now_ms)).toEqual({ reason: 'invalid_field', field: 'attribution' })
    for (const given of [{}, { attribution: null }, { attribution: { partner: 'organic', source: 's' } }])
      expect(findStatingFault(event(given), 'bulk', now_ms)).toBeNull()
  })

  it('becomes a fact that every reader takes, with its names as links have them', () => {
    const found = fact()
    expect(found).toMatchObject({ stated: { ...stated, partner: 'adnet', country: 'DE' } })
    expect(Found.parse(JSON.parse(JSON.stringify(found)))).toEqual(found)
    expect(fact({}, 1, {}).stated).toBeUndefined()
  })
})

describe('an imported install', () => {
  it('has the verdict that was stated: no click, no candidate, no flag', () => {
    expect(decided(fact())).toMatchObject({
      verdict: {
        ...{ partner: 'adnet', attribution_type: 'imported', source: 'appsflyer', campaign: 'spring' },
        ...{ ad_group: 'g', creative: 'k', sub1: null, sub2: 'x', link_id: null, click_id: null, ext_click_id: null },
        ...{ reinstall: false, fraud_flags: [] },
      },
      ...{ pending: false, candidates: [], clicks: [], clicked_at_ms: null, country: 'DE' },
    })
  })

  it('counts as organic where that was stated, without campaign and subs', () => {
    const { verdict } = decided(fact({ attribution: { ...stated, partner: 'organic' } }))
    const none = { campaign: null, ad_group: null, creative: null, sub2: null }
    expect(verdict).toMatchObject({ partner: 'organic', attribution_type: 'imported', ...none })
  })

  it('is the first install event or none: what is stated later changes nothing', () => {
    const own = { attribution: undefined }
    const other = { attribution: { ...stated, partner: 'late' } }
    const isStated = (...facts: InstallFact[]) => installOf(facts)?.stated?.partner
    expect(isStated(fact({}, 1), fact(own, 2), fact(other, 3))).toBe('adnet')
    expect(isStated(fact(own, 1), fact({}, 2))).toBeUndefined()
    const standIn = fact({ ...own, event_name: 'app_first_open' }, 1)
    expect(isStated(standIn, fact({}, 2))).toBeUndefined()
    expect(installOf([fact({}, 2), standIn])).toMatchObject({ event_name: 'app_install', place: { offset: 2 } })
    expect(isStated(fact({ ...own, event_name: 'app_first_open' }, 9), fact({}, 2))).toBe('adnet')
  })
})
