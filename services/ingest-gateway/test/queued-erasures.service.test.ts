import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limits } from '@tributary/contracts/limits'
import { openEmbeddedKeyValue } from '@tributary/key-value/embedded'
import { countersBreaker } from '@tributary/tenancy/quota/counters-breaker'
import { expect, onTestFinished, test } from 'vitest'
import { createQueuedErasures } from '../src/privacy/queued-erasures.ts'

async function open() {
  const dir = await mkdtemp(join(tmpdir(), 'tributary-erasures-'))
  const clock = { now_ms: Date.UTC(2026, 0, 31) }
  const now = () => clock.now_ms
  const keyValue = await openEmbeddedKeyValue({ dir, now })
  onTestFinished(async () => {
    await keyValue.close()
    await rm(dir, { recursive: true })
  })
  return { clock, gateway: () => createQueuedErasures({ keyValue, breaker: countersBreaker(now) }) }
}

test('requests for an install that come while the first is stored store nothing, and end as it does', async () => {
  const erasures = (await open()).gateway()
  for (const fault of [new Error('no'), null]) {
    let stored = 0
    const stores = Promise.withResolvers<void>()
    const ask = () =>
      erasures.queueOnce('app_1', 'i-1', () => {
        stored += 1
        return stores.promise
      })
    const asked = [ask(), ask(), ask()]
    await expect.poll(() => stored).toBe(1)
    asked.push(ask())
    if (fault === null) stores.resolve()
    else stores.reject(fault)
    const status = fault === null ? 'fulfilled' : 'rejected'
    expect((await Promise.allSettled(asked)).map((one) => one.status)).toEqual(Array(4).fill(status))
    expect(stored).toBe(1)
  }
})

test('an install is known to be queued for a week, over all gateways; a request after that is stored once more', async () => {
  const { clock, gateway } = await open()
  let stored = 0
  const ask = () =>
    gateway().queueOnce('app_1', 'i-1', async () => {
      stored += 1
    })
  await ask()
  clock.now_ms += limits.erasure_mark_kept_ms - 1
  await ask()
  expect(stored).toBe(1)
  clock.now_ms += 1
  await ask()
  expect(stored).toBe(2)
})
