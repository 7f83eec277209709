import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Click } from '@tributary/contracts/attribution/click'
import { limits } from '@tributary/contracts/limits'
import { openEmbeddedKeyValue } from '@tributary/key-value/embedded'
import { describe, expect, it, onTestFinished, test } from 'vitest'
import { agents, buildLink, clickTimes, openGateway } from './gateway.ts'

const android = 'https://play.google.com/store/apps/details?id=com.example.game'

describe('a honeypot', () => {
  it('is answered 404, recorded, and blocks the address for the links of its company alone', async () => {
    const link = buildLink()
    const trap = buildLink({ company_id: link.company_id, honeypot: true })
    const foreign = buildLink()
    const gateway = await openGateway({ links: [link, trap, foreign] })
    const { status, body } = await gateway.click(trap)
    expect([status, JSON.parse(body).error]).toEqual([404, 'not_found'])
    expect(gateway.clicks()).toMatchObject([{ filtered_reason: 'honeypot', link_id: trap.link_id, ip: '192.0.2.1' }])
    expect(await gateway.click(link)).toMatchObject({ status: 302, location: android })
    expect((await gateway.click(foreign)).location).toContain('referrer')
    expect((await gateway.click(link, { ip: '192.0.2.2' })).location).toContain('referrer')
    expect(await gateway.click(link, { agent: agents.preview })).toMatchObject({ status: 302, location: android })
    expect((await gateway.click(trap, { headers: { 'sec-fetch-dest': 'document' } })).status).toBe(404)
    expect(gateway.clicks().map(({ filtered_reason }) => filtered_reason)).toEqual(
      ['honeypot', null, null, 'bot', 'honeypot'], // the click that was stopped is none
    )
  })

  it('blocks a /64 of IPv6', async () => {
    const trap = buildLink({ honeypot: true })
    const link = buildLink({ company_id: trap.company_id })
    const gateway = await openGateway({ links: [link, trap] })
    await gateway.click(trap, { ip: '2001:db8:0:1::1' })
    expect((await gateway.click(link, { ip: '2001:db8:0:1:ffff::2' })).location).toBe(android)
    expect((await gateway.click(link, { ip: '2001:db8:0:2::1' })).location).toContain('referrer')
  })

  it('blocks an address for a day from its last hit on', async () => {
    const trap = buildLink({ honeypot: true })
    const link = buildLink({ company_id: trap.company_id })
    const dir = mkdtempSync(join(tmpdir(), 'tributary-links-'))
    onTestFinished(() => rmSync(dir, { recursive: true }))
    let now_ms = Date.UTC(2026, 5, 1)
    const keyValue = await openEmbeddedKeyValue({ dir, now: () => now_ms })
    onTestFinished(() => keyValue.close())
    const gateway = await openGateway({ links: [link, trap], keyValue })
    await gateway.click(trap)
    now_ms += limits.honeypot_block_ms - 1
    await gateway.click(trap)
    now_ms += limits.honeypot_block_ms - 1
    expect((await gateway.click(link)).location).toBe(android)
    now_ms += 1
    expect((await gateway.click(link)).location).toContain('referrer')
  })

  test.each(['image', 'iframe', 'frame', 'embed', 'object', 'script', 'style', 'video', 'empty', 'document, image'])(
    'blocks nobody whose page loads it as %s',
    async (destination) => {
      const link = buildLink()
      const trap = buildLink({ company_id: link.company_id, honeypot: true })
      const gateway = await openGateway({ links: [link, trap] })
      expect((await gateway.click(trap, { headers: { 'sec-fetch-dest': destination } })).status).toBe(404)
      expect((await gateway.click(link)).location).toContain('referrer')
      const [embed, click] = gateway.clicks()
      expect(Click.parse(embed).filtered_reason).toBe('honeypot_embed')
      expect(click!.filtered_reason).toBe(null)
    },
  )

  it('writes no more hits of a network than filtered clicks, but the first of each address', async () => {
    const trap = buildLink({ honeypot: true })
    const gateway = await openGateway({ links: [trap] })
    const headers = { 'sec-fetch-dest': 'image' }
    const hits = await clickTimes(limits.clicks_max + 1, () => gateway.click(trap, { headers }))
    expect(new Set(hits.map(({ status }) => status))).toEqual(new Set([404]))
    expect(gateway.clicks()).toHaveLength(limits.clicks_max)
    await gateway.click(trap)
    await gateway.click(trap)
    expect(gateway.clicks().filter(({ filtered_reason }) => filtered_reason === 'honeypot')).toHaveLength(1)
  })

  it('does not catch bots, which the filter answers before', async () => {
    const trap = buildLink({ honeypot: true })
    const gateway = await openGateway({ links: [trap] })
    expect((await gateway.click(trap, { agent: agents.preview })).status).toBe(302)
    expect(gateway.clicks()).toMatchObject([{ filtered_reason: 'bot' }])
  })
})
