import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { expect, test } from 'vitest'
import { createStoreOnce } from '../src/store-once.ts'

test('a copy that waits for a log that stands still looks seldom, and is answered when it is stored', async () => {
  const clock = { now_ms: Date.UTC(2026, 5, 1) }
  const keyValue = memoryKeyValue(() => clock.now_ms)
  const log = Promise.withResolvers<void>()
  const ends_ms = clock.now_ms + 1000
  let looks = 0
  const pause = async (ms: number) => {
    looks += 1
    clock.now_ms += ms
    if (clock.now_ms < ends_ms) return
    log.resolve()
    await first
  }
  const storeOnce = createStoreOnce({ keyValue, now: () => clock.now_ms }, (step) => step(), pause)
  const first = storeOnce('digest', () => log.promise)
  const copy = storeOnce('digest', () => Promise.reject(new Error('a copy must not be stored')))
  expect(await Promise.all([first, copy])).toEqual(['stored', 'repeated'])
  expect(looks).toBeLessThan(12)
})

test('a claim is given back whether its bytes were stored or not', async () => {
  const now = () => Date.UTC(2026, 5, 1)
  const keyValue = memoryKeyValue(now)
  const storeOnce = createStoreOnce({ keyValue, now }, (step) => step())
  await expect(storeOnce('digest', () => Promise.reject(new Error('full')))).rejects.toThrow('full')
  expect(await keyValue.get('postback-claim:digest')).toBeNull()
  expect(await storeOnce('digest', async () => {})).toBe('stored')
  await expect.poll(() => keyValue.get('postback-claim:digest')).toBeNull()
  expect(await storeOnce('digest', async () => {})).toBe('repeated')
})
