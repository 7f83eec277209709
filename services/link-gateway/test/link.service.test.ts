import { createHash, createHmac } from 'node:crypto'
import { Click } from '@tributary/contracts/attribution/click'
import { limits } from '@tributary/contracts/limits'
import { readClickToken } from '@tributary/domain/attribute/click-token'
import { tokenOfReferrer } from '@tributary/domain/link/play-referrer'
import { describe, expect, it, test } from 'vitest'
import { agents, buildLink, clickTimes, openGateway } from './gateway.ts'

const android = 'https://play.google.com/store/apps/details?id=com.example.game'
const iosLink = { platform: 'ios', bundle_id: null, store_id: '123456789' } as const
const ios = 'https://apps.apple.com/app/id123456789'
const iphone = { agent: agents.iphone }
const fallback_url = 'https://example.com/ä?x=1'
const fallback = 'https://example.com/%C3%A4?x=1'

describe('a click of a phone', () => {
  it('leads to the Play store with a signed click id, and the click is on the log by then', async () => {
    const link = buildLink({ deep_link: 'game://level/1', lookback_hours: 48, ad_group: 'g', creative: 'c' })
    const gateway = await openGateway({ links: [link] })
    const query = '?click_id=their%20id&sub1=a&sub5=%E2%82%AC&gaid=ABCDEF01-2345-6789-abcd-ef0123456789'
    const { status, location, headers, body } = await gateway.click(link, { query })
    expect([status, body]).toEqual([302, ''])
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    expect(location).toContain(`${android}&referrer=`)
    const token = tokenOfReferrer(new URL(String(location)).searchParams.get('referrer')!)!
    const [click] = gateway.clicks()
    expect(Click.parse(click)).toEqual(click)
    expect(readClickToken(token, link.link_secret)).toEqual({ click_id: click!.click_id, signature: 'valid' })
    const sha256 = createHash('sha256').update('abcdef01-2345-6789-abcd-ef0123456789').digest('hex')
    expect(click).toMatchObject({
      ...{
        company_id: link.company_id,
        app_id: link.app_id,
        link_id: link.link_id,
        partner: 'net',
        campaign: 'summer',
      },
      ...{
        ext_click_id: 'their id',
        sub1: 'a',
        sub2: null,
        sub5: '€',
        deep_link: 'game://level/1',
        lookback_hours: 48,
      },
      ...{ ad_group: 'g', creative: 'c', filtered_reason: null, country: 'DE', ip: '192.0.2.1' },
      ...{ clicked_at_ms: gateway.clock.now_ms, os: 'android', os_major: 14, model: 'Pixel 8' },
      device_hashes: [createHmac('sha256', link.salt).update(sha256).digest('hex')],
    })
  })

  it('leads to the App Store, with the campaign for Apple alone', async () => {
    const link = buildLink({ ...iosLink, provider_token: '77', campaign: null })
    const gateway = await openGateway({ links: [link] })
    const { location } = await gateway.click(link, { agent: agents.iphone })
    expect(location).toBe(`${ios}?pt=77&ct=net&mt=8`)
    expect(gateway.clicks()).toMatchObject([{ os: 'ios', os_major: 17, model: null, filtered_reason: null }])
  })

  it('has ids and times that never go back, whatever the clock does', async () => {
    const link = buildLink()
    const gateway = await openGateway({ links: [link] })
    for (const passed_ms of [0, 0, -5000, 1]) {
      gateway.clock.now_ms += passed_ms
      await gateway.click(link)
    }
    const clicks = gateway.clicks()
    expect(new Set(clicks.map(({ click_id }) => click_id)).size).toBe(4)
    for (const { click_id, clicked_at_ms } of clicks) {
      expect(Number.parseInt(click_id.replaceAll('-', '').slice(0, 12), 16)).toBe(clicked_at_ms)
    }
  })

  test.each([
    ['600 characters are cut to 512', `sub1=${'x'.repeat(600)}`, { sub1: 'x'.repeat(512) }],
    ['they are UTF-16 units', `sub1=${encodeURIComponent('😀'.repeat(600))}`, { sub1: '😀'.repeat(256) }],
    ['none is cut inside', `sub1=x${encodeURIComponent('😀'.repeat(600))}`, { sub1: `x${'😀'.repeat(255)}` }],
    ['broken UTF-8 is replaced', 'sub1=%ff%E2%82', { sub1: '\ufffd\ufffd' }],
    ['broken percent signs stay', 'sub1=%zz', { sub1: '%zz' }],
    ['the first of two counts, and an empty one is none', 'sub1=a&sub1=b&sub2=', { sub1: 'a', sub2: null }],
    ['a device id of zeros is none', 'gaid=00000000-0000-0000-0000-000000000000', { device_hashes: [] }],
    [
      'each kind of device id has a hash',
      'gaid=a&idfa=b&idfv=c&app_set_id=d',
      { device_hashes: Array.from({ length: 4 }, () => expect.stringMatching(/^[0-9a-f]{64}$/)) },
    ],
  ])('keeps what the query tells: %s', async (_what, query, kept) => {
    const link = buildLink()
    const gateway = await openGateway({ links: [link] })
    expect((await gateway.click(link, { query: `?${query}` })).status).toBe(302)
    expect(gateway.clicks()).toMatchObject([kept])
  })

  it('takes nothing of the request into its target', async () => {
    const link = buildLink({ campaign: 'a&b=c\r\nX: 1', partner: 'net' })
    const gateway = await openGateway({ links: [link] })
    const query =
      '?url=https://evil.example&fallback_url=https://evil.example&sub1=%0d%0aSet-Cookie:x&click_id=//evil.example'
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-for': '8.8.8.8' }
    const { location, headers: got } = await gateway.click(link, { query, headers })
    expect(String(location)).toMatch(
      /^https:\/\/play\.google\.com\/store\/apps\/details\?id=com\.example\.game&referrer=[\w%.~-]+$/,
    )
    expect(String(location)).not.toContain('evil')
    expect(got).not.toHaveProperty('set-cookie')
    expect(gateway.clicks()).toMatchObject([{ ip: '192.0.2.1' }])
  })
})

describe('a click that never attributes', () => {
  test.each([
    ['a link preview', { agent: agents.preview }, {}, {}, android, 'bot'],
    ['a request without an agent', { agent: '' }, {}, {}, android, 'bot'],
    ['a datacenter', {}, { datacenter: true }, {}, android, 'datacenter'],
    ['another country', {}, { country: 'US' }, { countries: ['DE', 'FR'] }, android, 'country'],
    ['an unknown country', {}, { country: null }, { countries: ['DE'] }, android, 'country'],
    ['a bot whatever the fallback', { agent: 'curl/8.5.0' }, {}, { fallback_url }, android, 'bot'],
    ["TikTok's preloader", { agent: `${agents.android} thirdLandingPageFeInfra` }, {}, {}, android, 'bot'],
    ['an iPhone in a datacenter', iphone, { datacenter: true }, { ...iosLink, provider_token: '7' }, ios, 'datacenter'],
    [
      'a phone of the other platform in another country',
      iphone,
      { country: 'US' },
      { countries: ['DE'], fallback_url },
      fallback,
      'country',
    ],
    ['a desktop', { agent: agents.desktop }, {}, {}, android, 'desktop'],
    ['a desktop to the fallback', { agent: agents.desktop }, {}, { fallback_url }, fallback, 'desktop'],
    ['an iPhone on an Android app', { agent: agents.iphone }, {}, {}, android, 'platform_mismatch'],
    ['an Android phone on an iOS app', {}, {}, { ...iosLink, fallback_url }, fallback, 'platform_mismatch'],
    [
      'a fallback that is no https address',
      { agent: agents.desktop },
      {},
      { fallback_url: 'javascript:alert(1)' },
      android,
      'desktop',
    ],
  ])('is recorded with the reason and led on: %s', async (_what, visit, facts, change, location, reason) => {
    const link = buildLink(change)
    const gateway = await openGateway({ links: [link] })
    gateway.addresses.set('192.0.2.1', facts)
    expect(await gateway.click(link, visit)).toMatchObject({ status: 302, location })
    expect(gateway.clicks().map(({ filtered_reason }) => filtered_reason)).toEqual([reason])
  })

  it('of a desktop is dropped with mobile_only=1', async () => {
    const link = buildLink()
    const gateway = await openGateway({ links: [link] })
    expect(await gateway.click(link, { agent: agents.desktop, query: '?mobile_only=1' })).toMatchObject({ status: 204 })
    expect((await gateway.click(link, { agent: agents.desktop, query: '?mobile_only=0' })).status).toBe(302)
    expect((await gateway.click(link, { query: '?mobile_only=1' })).status).toBe(302)
    expect(gateway.clicks().map(({ filtered_reason }) => filtered_reason)).toEqual(['desktop', null])
  })

  it('is HEAD: it gets the plain store page, and is not recorded', async () => {
    const link = buildLink()
    const gateway = await openGateway({ links: [link] })
    expect(await gateway.click(link, { method: 'HEAD' })).toMatchObject({ status: 302, location: android, body: '' })
    expect((await gateway.click({ link_id: 'nothing' }, { method: 'HEAD' })).status).toBe(404)
    expect(gateway.clicks()).toEqual([])
  })
})

describe('an unknown link', () => {
  it('is answered 404 not_found', async () => {
    const gateway = await openGateway({ links: [] })
    const { status, body } = await gateway.click(buildLink())
    expect([status, JSON.parse(body).error]).toEqual([404, 'not_found'])
    expect(gateway.clicks()).toEqual([])
  })

  it('costs no query once an address has guessed too often, and links in memory and other addresses go on', async () => {
    const [link, live] = [buildLink(), buildLink()]
    const gateway = await openGateway({ links: [link, live] })
    await gateway.click(live)
    const guess = (n: number) => gateway.click({ link_id: `guess-${n}` }, { ip: '2001:db8::1' })
    await clickTimes(limits.unknown_links_of_address_max, guess)
    const looked_up = gateway.looked_up.length
    const { status } = await gateway.click({ link_id: 'guess' }, { ip: '2001:db8::ffff' })
    expect([status, gateway.looked_up.length]).toEqual([404, looked_up])
    expect((await gateway.click(live, { ip: '2001:db8::1' })).status).toBe(302)
    expect((await gateway.click(link, { ip: '2001:db8::1' })).status).toBe(404)
    gateway.clock.now_ms += limits.unknown_links_window_ms
    expect((await gateway.click(link, { ip: '2001:db8::1' })).status).toBe(302)
    expect((await gateway.click(link, { ip: '2001:db8:0:1::1' })).status).toBe(302)
  })

  it('is forgotten when the clock goes back before it', async () => {
    const link = buildLink()
    const gateway = await openGateway({ links: [link] })
    gateway.clock.now_ms += 3_600_000
    await clickTimes(limits.unknown_links_of_address_max, (n) => gateway.click({ link_id: `guess-${n}` }))
    gateway.clock.now_ms -= 3_600_000
    expect((await gateway.click(link)).status).toBe(302)
  })

  it('keeps no reader of a page from other links, however often the page loads it', async () => {
    const link = buildLink()
    const gateway = await openGateway({ links: [link] })
    const headers = { 'sec-fetch-dest': 'image' }
    await clickTimes(limits.unknown_links_of_address_max, (n) => gateway.click({ link_id: `guess-${n}` }, { headers }))
    expect((await gateway.click(link, { headers })).status).toBe(404)
    expect((await gateway.click(link)).status).toBe(302)
  })

  it.each([
    ['disabled', { enabled: false }],
    ['of a suspended company', { company_status: 'suspended' as const }],
    ['unknown, and in memory by now', null],
  ])('never keeps an address from the links of others, however often it is followed: %s', async (_what, change) => {
    const [off, live] = [buildLink(change ?? {}), buildLink()]
    const gateway = await openGateway({ links: change === null ? [live] : [off, live] })
    const clicked = await clickTimes(limits.unknown_links_of_address_max + 1, () => gateway.click(off))
    expect(new Set(clicked.map(({ status }) => status))).toEqual(new Set([change === null ? 404 : 302]))
    expect((await gateway.click(live)).status).toBe(302)
  })
})

describe('when something is away', () => {
  it('the counters: nobody is limited or blocked, and that is counted', async () => {
    const link = buildLink()
    const gateway = await openGateway({ links: [link] })
    gateway.keyValue.fault = new Error('away')
    expect((await gateway.click(link)).status).toBe(302)
    expect(gateway.clicks()).toHaveLength(1)
    expect(await gateway.count('tributary_click_guards_missed_total')).toBeGreaterThan(0)
  })

  it('the log refuses: the person is redirected, and the lost click is counted and logged', async () => {
    const link = buildLink()
    const gateway = await openGateway({ links: [link] })
    gateway.log.publish = () => Promise.reject(new Error('the log is away'))
    expect((await gateway.click(link)).status).toBe(302)
    expect(await gateway.count('tributary_clicks_lost_total')).toBe(1)
    expect(gateway.logLines.join()).toContain('click lost')
  })

  it('the log is slow: clicks have all places of a process without other gateways', async () => {
    const link = buildLink()
    const gateway = await openGateway({ links: [link] })
    gateway.log.publish = () => new Promise(() => {})
    const clicks = Array.from({ length: 200 }, (_, n) => gateway.click(link, { ip: `192.0.${n}.1` }))
    expect(new Set((await Promise.all(clicks)).map(({ status }) => status))).toEqual(new Set([302]))
  })

  it('the log is slow: the person is redirected after 250 ms, and the click goes on by itself', async () => {
    const link = buildLink()
    const gateway = await openGateway({ links: [link] })
    const { promise: free, resolve: release } = Promise.withResolvers<void>()
    const { publish } = gateway.log
    gateway.log.publish = async (records) => {
      await free
      await publish(records)
    }
    const began = performance.now()
    expect((await gateway.click(link)).status).toBe(302)
    expect(performance.now() - began).toBeGreaterThanOrEqual(limits.click_wait_ms_max - 5)
    expect(gateway.clicks()).toEqual([])
    const closing = gateway.app.close()
    release()
    await closing
    expect(gateway.clicks()).toHaveLength(1)
    expect([
      await gateway.count('tributary_clicks_late_total'),
      await gateway.count('tributary_clicks_lost_total'),
    ]).toEqual([1, 0])
  })
})
