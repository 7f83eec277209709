import { Click } from '@tributary/contracts/attribution/click'
import { limits } from '@tributary/contracts/limits'
import type { TrackingLink } from '@tributary/tenancy/attribution/links'
import { describe, expect, it, test } from 'vitest'
import { agents, buildLink, clickTimes, openGateway } from './gateway.ts'

const android = 'https://play.google.com/store/apps/details?id=com.example.game'
const iosLink = { platform: 'ios', bundle_id: null, store_id: '123456789' } as const
const ios = 'https://apps.apple.com/app/id123456789'
const iphone = { agent: agents.iphone }
const fallback_url = 'https://example.com/ä?x=1'
const fallback = 'https://example.com/%C3%A4?x=1'

/** Ways to stop a click, each with its reason in the metric. Who is stopped is not written. */
const stops = [
  ['disabled', { enabled: false }],
  ['suspended', { company_status: 'suspended' as const }],
  ['blocked', {}],
  ['rate_limited', {}],
] as const

/** A gateway that stops the clicks of an address on a link. */
async function openStopped(reason: (typeof stops)[number][0], change: Partial<TrackingLink>) {
  const link = buildLink({ ...Object.fromEntries(stops)[reason], ...change })
  const trap = buildLink({ company_id: link.company_id, honeypot: true })
  const gateway = await openGateway({ links: [link, trap] })
  if (reason === 'blocked') await gateway.click(trap)
  if (reason === 'rate_limited') await clickTimes(limits.clicks_max, () => gateway.click(link))
  return { ...gateway, link, before: gateway.clicks().length }
}

describe('a person whose click is stopped', () => {
  test.each(stops)('reaches the store without a parameter, and nothing is written but a count: %s', async (reason) => {
    for (const [visit, change, location] of [
      [{}, {}, android],
      [iphone, { ...iosLink, provider_token: '77' }, ios],
      [iphone, { fallback_url }, fallback],
      [iphone, {}, android],
      [{ agent: agents.desktop }, { fallback_url }, fallback],
      [{ agent: agents.desktop, query: '?mobile_only=1' }, {}, android],
    ] as const) {
      const { click, clicks, countClicks, link, before } = await openStopped(reason, change)
      const stopped = await click(link, { query: '?click_id=1&sub1=a', ...visit })
      expect(stopped).toMatchObject({ status: 302, location, headers: { 'cache-control': 'no-store' } })
      expect([clicks().length - before, await countClicks(reason)]).toEqual([0, 1])
    }
  })

  it('of an app that lost its store page reaches the fallback, and 404 without one', async () => {
    const none = { bundle_id: null, store_id: null }
    const links = [buildLink({ ...none, fallback_url }), buildLink(none), buildLink({ ...iosLink, ...none })]
    const gateway = await openGateway({ links })
    expect(await gateway.click(links[0]!)).toMatchObject({ status: 302, location: fallback })
    for (const link of links.slice(1)) {
      expect((await gateway.click(link)).status).toBe(404)
      expect((await gateway.click(link, iphone)).status).toBe(404)
    }
    expect(gateway.clicks()).toEqual([])
  })

  it('is caught by a honeypot of an app that lost its store page', async () => {
    const trap = buildLink({ bundle_id: null, store_id: null, honeypot: true, fallback_url })
    const link = buildLink({ company_id: trap.company_id })
    const gateway = await openGateway({ links: [link, trap] })
    expect((await gateway.click(trap)).status).toBe(404)
    expect(gateway.clicks()).toMatchObject([{ filtered_reason: 'honeypot', link_id: trap.link_id }])
    expect(await gateway.click(link)).toMatchObject({ status: 302, location: android })
  })

  it('is not caught by a honeypot that is disabled', async () => {
    const trap = buildLink({ honeypot: true, enabled: false })
    const link = buildLink({ company_id: trap.company_id })
    const gateway = await openGateway({ links: [link, trap] })
    expect(await gateway.click(trap)).toMatchObject({ status: 302, location: android })
    expect((await gateway.click(link)).location).toContain('referrer')
  })
})

describe('a prefetch', () => {
  test.each([
    { 'sec-purpose': 'prefetch' },
    { 'sec-purpose': 'prefetch;prerender' },
    { 'sec-purpose': 'Prefetch;anonymous-client-ip' },
    { purpose: 'prefetch' },
    { 'x-purpose': 'preview' },
    { 'x-moz': 'prefetch' },
  ])('is asked to come again, is not written, and blocks nobody: %j', async (headers) => {
    const link = buildLink()
    const trap = buildLink({ company_id: link.company_id, honeypot: true })
    const gateway = await openGateway({ links: [link, trap] })
    for (const one of [link, trap]) {
      const answer = await gateway.click(one, { headers })
      expect(answer).toMatchObject({ status: 503, location: null, headers: { 'cache-control': 'no-store' } })
      expect(JSON.parse(answer.body).error).toBe('unavailable')
    }
    expect(gateway.clicks()).toEqual([])
    expect(await gateway.countClicks('prefetch')).toBe(2)
    expect((await gateway.click(link)).location).toContain('referrer')
    expect(gateway.clicks()).toMatchObject([{ filtered_reason: null }])
  })

  it('is not what other requests with these headers are', async () => {
    const link = buildLink()
    const gateway = await openGateway({ links: [link] })
    const headers = { purpose: 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' }
    expect((await gateway.click(link, { headers })).status).toBe(302)
    expect((await gateway.click({ link_id: 'x' }, { headers: { purpose: 'prefetch' } })).status).toBe(404)
  })
})

describe('the limit of a network', () => {
  it('holds for a /24 and a company, and people beyond it reach the store', async () => {
    const link = buildLink()
    const other = buildLink()
    const gateway = await openGateway({ links: [link, other] })
    await clickTimes(limits.clicks_max, (n) => gateway.click(link, { ip: `192.0.2.${n % 256}` }))
    expect(gateway.clicks()).toHaveLength(limits.clicks_max)
    gateway.clock.now_ms += 20_000
    expect(await gateway.click(link, { ip: '192.0.2.99' })).toMatchObject({ status: 302, location: android })
    expect((await gateway.click(link, { ip: '192.0.3.1' })).location).toContain('referrer')
    expect((await gateway.click(other, { ip: '192.0.2.99' })).location).toContain('referrer')
    gateway.clock.now_ms += 40_000
    expect((await gateway.click(link, { ip: '192.0.2.99' })).location).toContain('referrer')
    expect(gateway.clicks()).toHaveLength(limits.clicks_max + 3)
    expect(await gateway.countClicks('rate_limited')).toBe(1)
  })

  it('is not used up by bots, whose clicks have a limit of their own', async () => {
    const link = buildLink()
    const gateway = await openGateway({ links: [link] })
    const clicked = await clickTimes(limits.clicks_max + 1, () => gateway.click(link, { agent: agents.preview }))
    expect(new Set(clicked.map(({ location }) => location))).toEqual(new Set([android]))
    expect(gateway.clicks()).toHaveLength(limits.clicks_max)
    expect(await gateway.countClicks('rate_limited')).toBe(1)
    expect((await gateway.click(link)).location).toContain('referrer')
  })

  it('leaves no filtered click uncounted: a later row, or one at the end, stands for those without a row', async () => {
    const [link, other] = [buildLink(), buildLink()]
    const gateway = await openGateway({ links: [link, { ...other, company_id: link.company_id }] })
    const bot = (one = link) => gateway.click(one, { agent: agents.preview })
    const weights = () => gateway.clicks().map(({ weight = 1 }) => weight)
    const sum = () => weights().reduce((total, weight) => total + weight, 0)
    await clickTimes(limits.clicks_max + 5, () => bot())
    await bot(other)
    expect(sum()).toBe(limits.clicks_max)
    gateway.clock.now_ms += limits.clicks_window_ms
    await bot()
    expect([weights().at(-1), sum()]).toEqual([6, limits.clicks_max + 6])
    await clickTimes(limits.clicks_max + 1, () => bot())
    await gateway.app.close()
    expect(sum()).toBe(2 * limits.clicks_max + 8)
    const unwritten = gateway.clicks().filter(({ link_id }) => link_id === other.link_id)
    expect(unwritten.map(({ weight }) => weight)).toEqual([undefined])
    for (const click of gateway.clicks()) Click.parse(click)
  })

  it('reads the address behind trusted proxies, and believes nobody else', async () => {
    const link = buildLink()
    const gateway = await openGateway({ links: [link], trusted_proxies: ['10.0.0.1'] })
    await gateway.click(link, { ip: '10.0.0.1', headers: { 'x-forwarded-for': '1.1.1.1, 192.0.2.7' } })
    await gateway.click(link, { ip: '192.0.2.8', headers: { 'x-forwarded-for': '1.1.1.1' } })
    expect(gateway.clicks().map(({ ip }) => ip)).toEqual(['192.0.2.7', '192.0.2.8'])
  })
})
