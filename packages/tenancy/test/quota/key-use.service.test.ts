import { hour_ms } from '@tributary/contracts/limits'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { expect, it, vi } from 'vitest'
import { createKeyUse, findKeyUse } from '../../src/quota/key-use.ts'

const began_ms = Date.UTC(2026, 10, 28, 10, 30, 20, 500)
const minute_ms = Date.UTC(2026, 10, 28, 10, 30)

function world() {
  const clock = { now_ms: began_ms }
  const now = () => clock.now_ms
  const keyValue = memoryKeyValue(now)
  const use = () => createKeyUse({ keyValue, breaker: (step) => step().catch(() => null), now }, 1)
  const found = async (key_id: string) => (await findKeyUse(keyValue, [key_id], clock.now_ms)).get(key_id)
  return { clock, keyValue, use, found }
}

it('shows the minute of the last request of a key, and the requests of 24 hours, over all processes', async () => {
  const { clock, use, found } = world()
  const gateways = [use(), use()]
  expect(await found('key_1')).toEqual({ last_used_ms: null, requests_24h: 0 })
  for (let n = 0; n < 5; n += 1) gateways[n % 2]!.note('key_1')
  await vi.waitFor(async () => expect(await found('key_1')).toEqual({ last_used_ms: minute_ms, requests_24h: 5 }))
  clock.now_ms += 23 * hour_ms
  gateways[0]!.note('key_1')
  const later_ms = minute_ms + 23 * hour_ms
  await vi.waitFor(async () => expect(await found('key_1')).toEqual({ last_used_ms: later_ms, requests_24h: 6 }))
  clock.now_ms += hour_ms
  expect(await found('key_1')).toEqual({ last_used_ms: later_ms, requests_24h: 1 })
  clock.now_ms += 800 * 24 * hour_ms
  expect(await found('key_1')).toEqual({ last_used_ms: later_ms, requests_24h: 0 })
})

it('never shows a last request that is still to come, after a clock that was ahead', async () => {
  const { clock, use, found } = world()
  const gateway = use()
  clock.now_ms += 48 * hour_ms
  gateway.note('key_1')
  await vi.waitFor(async () => expect(await found('key_1')).toMatchObject({ requests_24h: 1 }))
  clock.now_ms = began_ms
  expect(await found('key_1')).toEqual({ last_used_ms: minute_ms, requests_24h: 0 })
})

it('says that it is not known while the counters are away, and counts on afterwards', async () => {
  const { keyValue, use, found } = world()
  const gateway = use()
  keyValue.fault = new Error('away')
  gateway.note('key_1')
  expect(await found('key_1')).toEqual({ last_used_ms: null, requests_24h: null })
  keyValue.fault = null
  await vi.waitFor(async () => {
    gateway.note('key_1')
    expect((await found('key_1'))!.requests_24h).toBeGreaterThan(0)
  })
})
