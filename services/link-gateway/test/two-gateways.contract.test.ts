import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limits } from '@tributary/contracts/limits'
import { openEmbeddedKeyValue } from '@tributary/key-value/embedded'
import type { KeyValue } from '@tributary/key-value/key-value'
import { openRedisKeyValue } from '@tributary/key-value/redis'
import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import { pino } from 'pino'
import { describe, expect, it, onTestFinished } from 'vitest'
import { agents, buildLink, openGateway } from './gateway.ts'

const plain = 'https://play.google.com/store/apps/details?id=com.example.game'

function twoGateways(open: () => Promise<[KeyValue, KeyValue]>) {
  const link = buildLink()
  const trap = buildLink({ company_id: link.company_id, honeypot: true })
  const foreign = buildLink()
  const links = [link, trap, foreign]
  async function openBoth() {
    const [keyValue, other] = await open()
    onTestFinished(async () => void (await Promise.all([keyValue.close(), other.close()])))
    return [await openGateway({ links, keyValue }), await openGateway({ links, keyValue: other })] as const
  }

  it('allow a network exactly as many clicks as one does', async () => {
    const gateways = await openBoth()
    const stopped: boolean[] = []
    const clients = Array.from({ length: 40 }, async (_, client) => {
      for (let n = 0; n < (2 * limits.clicks_max) / 40; n += 1) {
        const { location } = await gateways[client % 2]!.click(foreign, { ip: `192.0.2.${client}` })
        stopped.push(location === plain)
      }
    })
    await Promise.all(clients)
    expect(stopped.filter((one) => one)).toHaveLength(limits.clicks_max)
    expect(stopped.filter((one) => !one)).toHaveLength(limits.clicks_max)
    expect(gateways.flatMap(({ clicks: written }) => written())).toHaveLength(limits.clicks_max)
    expect((await gateways[0].click(foreign, { ip: '192.0.3.1' })).status).toBe(302)
  })

  it('block together whoever opened a honeypot of one of them', async () => {
    const [one, two] = await openBoth()
    expect((await one.click(trap)).status).toBe(404)
    for (const gateway of [one, two]) {
      expect((await gateway.click(link)).location).toBe(plain)
      expect((await gateway.click(foreign, { ip: '198.51.100.1' })).status).toBe(302)
      expect((await gateway.click(link, { agent: agents.preview })).status).toBe(302)
    }
    expect(two.clicks().map(({ filtered_reason }) => filtered_reason)).toEqual([null, 'bot'])
  })
}

describe('two gateways over one embedded store', () => {
  twoGateways(async () => {
    const dir = mkdtempSync(join(tmpdir(), `tributary-links-${randomUUID()}`))
    onTestFinished(() => rmSync(dir, { recursive: true }))
    const keyValue = await openEmbeddedKeyValue({ dir, now: Date.now })
    return [keyValue, keyValue]
  })
})

await describeWithEngine('redis', ({ url }) => {
  describe('two gateways over one Redis', () => {
    const logger = pino({ level: 'silent' })
    twoGateways(async () => [await openRedisKeyValue({ url, logger }), await openRedisKeyValue({ url, logger })])
  })
})
