import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { erasures_begun_key, queuedErasureKey } from '@tributary/contracts/erasure'
import { limits } from '@tributary/contracts/limits'
import { openEmbeddedKeyValue } from '@tributary/key-value/embedded'
import { countersBreaker } from '@tributary/tenancy/quota/counters-breaker'
import { expect, onTestFinished, test } from 'vitest'
import { createQueuedErasures } from '../../src/privacy/queued-erasures.ts'

async function open() {
  const dir = await mkdtemp(join(tmpdir(), 'tributary-erasures-'))
  const clock = { now_ms: Date.UTC(2026, 0, 31) }
  const now = () => clock.now_ms
  const keyValue = await openEmbeddedKeyValue({ dir, now })
  onTestFinished(async () => {
    await keyValue.close()
    await rm(dir, { recursive: true })
  })
  /** Does what the eraser does when a run begins. */
  const beginErasure = async () => {
    await keyValue.reconcile(
      erasures_begun_key,
      now() + limits.erasure_begin_ms,
      null,
      100 * limits.erasure_mark_kept_ms,
    )
    await keyValue.remove(queuedErasureKey('app_1', 'i-1'))
  }
  return {
    clock,
    keyValue,
    beginErasure,
    gateway: () => createQueuedErasures({ keyValue, breaker: countersBreaker(now) }),
  }
}

const asker = { address: '192.0.2.1', is_known: false }
const install = { app_id: 'app_1', install_uuid: 'i-1' }

test('requests for an install that come while the first is stored store nothing, and end as it does', async () => {
  const { clock, gateway } = await open()
  const erasures = gateway()
  for (const fault of [new Error('no'), null]) {
    let stored = 0
    const stores = Promise.withResolvers<void>()
    const ask = () =>
      erasures.queueOnce({ ...install, requested_at_ms: clock.now_ms }, asker, () => {
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
    gateway().queueOnce({ ...install, requested_at_ms: clock.now_ms }, asker, async () => {
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

test('a mark of a clock that was ahead has one request stored once more, and the next is known to be queued', async () => {
  const { clock, gateway } = await open()
  const stored: number[] = []
  const ask = async () => {
    const requested_at_ms = clock.now_ms
    await gateway().queueOnce({ ...install, requested_at_ms }, asker, async () => void stored.push(requested_at_ms))
  }
  const ahead_ms = limits.erasure_mark_kept_ms / 2
  clock.now_ms += ahead_ms
  await ask()
  clock.now_ms -= ahead_ms
  for (let n = 0; n < 3; n += 1) {
    await ask()
    clock.now_ms += 1000
  }
  expect(stored).toEqual([clock.now_ms - 3000 + ahead_ms, clock.now_ms - 3000])
})

test('a mark that is set when its request is erased already keeps no later request away', async () => {
  const { clock, gateway, keyValue, beginErasure } = await open()
  const stored: number[] = []
  const ask = async (store = async () => {}) => {
    const requested_at_ms = clock.now_ms
    await gateway().queueOnce({ ...install, requested_at_ms }, asker, async () => {
      stored.push(requested_at_ms)
      await store()
    })
  }
  const first_ms = clock.now_ms
  // The eraser has read the request and begins before the gateway sets its mark.
  await ask(beginErasure)
  expect(await keyValue.get(queuedErasureKey('app_1', 'i-1'))).toBeNull()
  // A gateway that stood still just before may set it.
  await keyValue.reconcile(queuedErasureKey('app_1', 'i-1'), first_ms, null, limits.erasure_mark_kept_ms)
  clock.now_ms += limits.erasure_begin_ms + 1
  await ask()
  await ask()
  expect(stored).toEqual([first_ms, clock.now_ms])
  // The run after that ends the mark as well.
  await beginErasure()
  clock.now_ms += limits.erasure_begin_ms + 1
  await ask()
  expect(stored).toHaveLength(3)
})

test('a request of the last millisecond that an erasure may cover keeps no later request away', async () => {
  const { clock, gateway, keyValue } = await open()
  const stored: number[] = []
  const ask = async () => {
    const requested_at_ms = clock.now_ms
    await gateway().queueOnce({ ...install, requested_at_ms }, asker, async () => void stored.push(requested_at_ms))
  }
  await keyValue.reconcile(erasures_begun_key, clock.now_ms, null, limits.erasure_mark_kept_ms)
  const covered_ms = clock.now_ms
  await ask()
  clock.now_ms += 1
  await ask()
  await ask()
  expect(stored).toEqual([covered_ms, covered_ms + 1])
})

test('a request that comes while an earlier one is stored is stored itself if an erasure begins meanwhile', async () => {
  const { clock, gateway, beginErasure } = await open()
  const erasures = gateway()
  const stores = Promise.withResolvers<void>()
  const stored: number[] = []
  const ask = () => {
    const requested_at_ms = clock.now_ms
    return erasures.queueOnce({ ...install, requested_at_ms }, asker, () => {
      stored.push(requested_at_ms)
      return stores.promise
    })
  }
  const first = ask()
  await expect.poll(() => stored.length).toBe(1)
  await beginErasure()
  clock.now_ms += 1000
  const later = [ask(), ask(), ask()]
  stores.resolve()
  await Promise.all([first, ...later])
  expect(stored).toEqual([clock.now_ms - 1000, clock.now_ms])
})
