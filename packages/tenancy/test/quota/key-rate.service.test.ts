import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { countersBreaker } from '../../src/quota/counters-breaker.ts'
import { createKeyRate, type SpentRequest } from '../../src/quota/key-rate.ts'

function rates() {
  const clock = { now_ms: 1_000_000 }
  const now = () => clock.now_ms
  const keyValue = memoryKeyValue(now)
  const registry = new Registry()
  return {
    clock,
    keyValue,
    registry,
    gateway: () => createKeyRate({ keyValue, breaker: countersBreaker(now), now, registry }),
  }
}
const outcome = async (spent: Promise<SpentRequest>) => (await spent).refusal?.code ?? 'ok'

it('allows 1000 requests of a key in any 60 seconds over all processes, and says when the next one is', async () => {
  const { clock, gateway } = rates()
  const both = [gateway(), gateway()]
  expect(await both[0]!.spend('key_1')).toEqual({
    headers: { 'ratelimit-limit': '1000', 'ratelimit-remaining': '999', 'ratelimit-reset': '60' },
    refusal: null,
  })
  clock.now_ms += 10_000
  for (let n = 1; n < 1000; n += 1) await both[n % 2]!.spend('key_1')
  expect(await both[0]!.spend('key_1')).toMatchObject({
    headers: { 'ratelimit-limit': '1000', 'ratelimit-remaining': '0', 'ratelimit-reset': '50' },
    refusal: { code: 'rate_limited', status: 429, headers: { 'retry-after': '50' } },
  })
  expect(await outcome(both[1]!.spend('key_2'))).toBe('ok')
  clock.now_ms += 49_999
  expect(await outcome(both[1]!.spend('key_1'))).toBe('rate_limited')
  clock.now_ms += 1
  expect(await outcome(both[1]!.spend('key_1'))).toBe('ok')
  expect(await outcome(both[1]!.spend('key_1'))).toBe('rate_limited')
})

it('lets requests through while the counters are away, and counts them', async () => {
  const { keyValue, gateway, registry } = rates()
  const rate = gateway()
  keyValue.fault = new Error('away')
  expect(await rate.spend('key_1')).toEqual({ headers: {}, refusal: null })
  expect(await registry.getSingleMetricAsString('tributary_key_rate_missed_total')).toContain(' 1')
})
