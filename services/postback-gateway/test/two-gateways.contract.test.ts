import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limits } from '@tributary/contracts/limits'
import { addressBlock } from '@tributary/contracts/networks'
import { openEmbeddedKeyValue } from '@tributary/key-value/embedded'
import type { KeyValue } from '@tributary/key-value/key-value'
import { openRedisKeyValue } from '@tributary/key-value/redis'
import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import { pino } from 'pino'
import { describe, expect, it, onTestFinished } from 'vitest'
import { addressBudgetKey } from '../src/budget.ts'
import { type Clock, openGateway, skanBody } from './gateway.ts'

type Open = (clock: Clock) => Promise<[KeyValue, KeyValue]>

async function openBoth(open: Open) {
  const clock = { now_ms: Date.now() }
  const [keyValue, other] = await open(clock)
  onTestFinished(async () => void (await Promise.all([keyValue.close(), other.close()])))
  return [await openGateway({ clock, keyValue }), await openGateway({ clock, keyValue: other })] as const
}

const newAddress = () => `2001:db8:${[0, 1].map(() => Math.floor(Math.random() * 65_536).toString(16)).join(':')}::1`

function twoGateways(open: Open) {
  it('store the same bytes once, whichever of them gets them, and at the same time', async () => {
    const gateways = await openBoth(open)
    const bodies = Array.from({ length: 20 }, () => skanBody())
    const sent = bodies.flatMap((body) => [0, 1, 0, 1].map((at) => gateways[at]!.send(body)))
    expect(new Set((await Promise.all(sent)).map(({ status }) => status))).toEqual(new Set([200]))
    const stored = gateways.flatMap(({ received }) => received().map(({ body }) => body))
    expect(stored.toSorted()).toEqual(bodies.toSorted())
  })

  it('allow an address exactly as many postbacks as one does', async () => {
    const gateways = await openBoth(open)
    const ip = newAddress()
    const sent = Array.from({ length: limits.postbacks_max + 50 }, (_, n) => gateways[n % 2]!.send('junk', { ip }))
    const statuses = (await Promise.all(sent)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 400)).toHaveLength(limits.postbacks_max)
    expect(statuses.filter((status) => status === 429)).toHaveLength(50)
  })

  it('share the budgets of a day: an address stores as much as at one', async () => {
    const clock = { now_ms: Date.now() }
    const both = await open(clock)
    onTestFinished(async () => void (await Promise.all(both.map((keyValue) => keyValue.close()))))
    const gateways = await Promise.all(both.map((keyValue) => openGateway({ clock, keyValue })))
    const ip = newAddress()
    const key = addressBudgetKey(new Date(clock.now_ms).toISOString().slice(0, 10), addressBlock(ip))
    const bytes = 7 * (Buffer.byteLength(skanBody()) + limits.postback_record_bytes)
    await both[0].addCapped(key, limits.postback_address_day_bytes_max - bytes, null, limits.postback_budget_kept_ms)
    const sent = Array.from({ length: 20 }, (_, n) => gateways[n % 2]!.send(skanBody(), { ip }))
    const statuses = (await Promise.all(sent)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(7)
    expect(statuses.filter((status) => status === 429)).toHaveLength(13)
    await both[0].remove(key)
  })
}

describe('two gateways over one embedded store', () => {
  const open: Open = async (clock) => {
    const dir = mkdtempSync(join(tmpdir(), `tributary-postbacks-${randomUUID()}`))
    onTestFinished(() => rmSync(dir, { recursive: true }))
    const keyValue = await openEmbeddedKeyValue({ dir, now: () => clock.now_ms })
    return [keyValue, keyValue]
  }
  twoGateways(open)

  it('remember bytes for 10 minutes', async () => {
    const [one, two] = await openBoth(open)
    const body = skanBody()
    for (const passed_ms of [0, limits.postback_remembered_ms - 1, 1]) {
      one.clock.now_ms += passed_ms
      expect((await two.send(body)).status).toBe(200)
    }
    expect([one.received().length, two.received().length]).toEqual([0, 2])
  })

  it('take over from one that ended in the midst of storing', async () => {
    const [ended, other] = await openBoth(open)
    const body = skanBody()
    const { promise: never, resolve: end } = Promise.withResolvers<void>()
    ended.log.until = never
    const lost = ended.send(body)
    await expect.poll(() => ended.audited().length).toBe(1)
    const again = other.send(body)
    other.clock.now_ms += limits.postback_claim_ms_max
    expect((await again).status).toBe(200)
    expect(other.received()).toHaveLength(1)
    end()
    await lost
  })
})

await describeWithEngine('redis', ({ url }) => {
  describe('two gateways over one Redis', () => {
    const logger = pino({ level: 'silent' })
    twoGateways(async () => [await openRedisKeyValue({ url, logger }), await openRedisKeyValue({ url, logger })])
  })
})
