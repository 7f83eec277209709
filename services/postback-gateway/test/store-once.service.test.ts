import { setTimeout as pause } from 'node:timers/promises'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { expect, test, vi } from 'vitest'
import { createStoreOnce } from '../src/store-once.ts'

test('a copy that waits for a log that stands still looks seldom, and is answered when it is stored', async () => {
  const keyValue = memoryKeyValue(Date.now)
  const looks = vi.spyOn(keyValue, 'get')
  const storeOnce = createStoreOnce({ keyValue, now: Date.now }, (step) => step())
  const first = storeOnce('digest', () => pause(1000))
  const copy = storeOnce('digest', () => Promise.reject(new Error('a copy must not be stored')))
  expect(await Promise.all([first, copy])).toEqual(['stored', 'repeated'])
  expect(looks.mock.calls.length).toBeLessThan(12) // one of them is of the first
})
