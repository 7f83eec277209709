import { randomUUID } from 'node:crypto'
import type { KeyValue } from '@tributary/key-value/key-value'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

/** One store that can be opened again after it was closed. */
export interface KeyValueUnderTest {
  open(): Promise<KeyValue>
  dispose(): Promise<void>
}

const patience = { timeout: 20_000, interval: 10 }
const long_ms = 600_000

/** What every key-value store promises (key-value.ts). Time is real, since Redis keeps its own. */
export function keyValueSuite(name: string, start: () => Promise<KeyValueUnderTest>): void {
  describe(`${name} keeps the promises of a key-value store`, () => {
    let store: KeyValueUnderTest
    let keyValue: KeyValue
    let key: string

    beforeEach(async () => {
      store = await start()
      keyValue = await store.open()
      key = `test:${randomUUID()}`
    })
    afterEach(async () => {
      await keyValue.close()
      await store.dispose()
    })

    it('adds up to the cap and not beyond', async () => {
      expect(await keyValue.get(key)).toBeNull()
      expect(await keyValue.addCapped(key, 7, 10, long_ms)).toEqual({ added: true, total: 7 })
      expect(await keyValue.addCapped(key, 4, 10, long_ms)).toEqual({ added: false, total: 7 })
      expect(await keyValue.addCapped(key, 3, 10, long_ms)).toEqual({ added: true, total: 10 })
      expect(await keyValue.get(key)).toBe(10)
      expect(await keyValue.addCapped(key, 1000, null, long_ms)).toEqual({ added: true, total: 1010 })
    })

    it('keeps no key of a refused add', async () => {
      expect(await keyValue.addCapped(key, 11, 10, long_ms)).toEqual({ added: false, total: 0 })
      expect(await keyValue.get(key)).toBeNull()
    })

    it('gives back, but never below zero and also above the cap', async () => {
      await keyValue.addCapped(key, 10, null, long_ms)
      expect(await keyValue.addCapped(key, -3, 5, long_ms)).toEqual({ added: true, total: 7 })
      expect(await keyValue.addCapped(key, -100, 5, long_ms)).toEqual({ added: true, total: 0 })
      expect(await keyValue.get(key)).toBe(0)
    })

    it('settles a counter without a mark by raising it, and never lowers it', async () => {
      expect(await keyValue.settle(key, 0, null, long_ms)).toBe(0)
      expect(await keyValue.get(key)).toBeNull()
      expect(await keyValue.settle(key, 40, null, long_ms)).toBe(40)
      expect(await keyValue.settle(key, 30, null, long_ms)).toBe(40)
      expect(await keyValue.addCapped(key, 2, 50, long_ms)).toEqual({ added: true, total: 42 })
      expect(await keyValue.settle(key, 5_000_000_000_000, 'no mark', long_ms)).toBe(5_000_000_000_000)
      expect(await keyValue.get(key)).toBe(5_000_000_000_000)
    })

    it('takes off what a mark has too much, and nothing that was added since', async () => {
      expect(await keyValue.mark(key, 'a')).toBeNull()
      await keyValue.addCapped(key, 5_000_000_000_010, null, long_ms)
      expect(await keyValue.mark(key, 'a')).toBe(5_000_000_000_010)
      await keyValue.addCapped(key, 7, null, long_ms)
      expect(await keyValue.get(key)).toBe(5_000_000_000_017)
      expect(await keyValue.settle(key, 5_000_000_000_004, 'a', long_ms)).toBe(5_000_000_000_011)
      expect(await keyValue.settle(key, 1, 'a', long_ms)).toBe(5_000_000_000_011)
    })

    it('takes nothing off twice that was given back since the mark', async () => {
      await keyValue.addCapped(key, 10, null, long_ms)
      await keyValue.mark(key, 'a')
      await keyValue.addCapped(key, 5, null, long_ms)
      await keyValue.addCapped(key, -4, null, long_ms)
      expect(await keyValue.settle(key, 6, 'a', long_ms)).toBe(11)
    })

    it('settles by the newest mark alone, also after it was closed', async () => {
      await keyValue.addCapped(key, 10, null, long_ms)
      await keyValue.mark(key, 'a')
      await keyValue.mark(key, 'b')
      expect(await keyValue.settle(key, 4, 'a', long_ms)).toBe(10)
      expect(await keyValue.settle(key, 4, null, long_ms)).toBe(10)
      await keyValue.close()
      keyValue = await store.open()
      expect(await keyValue.settle(key, 4, 'b', long_ms)).toBe(4)
      await keyValue.mark(key, 'c')
      expect(await keyValue.settle(key, 9, 'c', long_ms)).toBe(9)
    })

    it('counts exactly when many add at once', async () => {
      const adds = await Promise.all(Array.from({ length: 60 }, () => keyValue.addCapped(key, 2, 50, long_ms)))
      expect(adds.filter(({ added }) => added)).toHaveLength(25)
      expect(new Set(adds.filter(({ added }) => added).map(({ total }) => total)).size).toBe(25)
      expect(await keyValue.get(key)).toBe(50)
    })

    it('holds quotas of many thousand millions', async () => {
      const much = 5_000_000_000_000
      expect(await keyValue.addCapped(key, much, much + 1, long_ms)).toEqual({ added: true, total: much })
      expect(await keyValue.addCapped(key, 2, much + 1, long_ms)).toEqual({ added: false, total: much })
    })

    it('forgets a key when its time is over, counted from its first add', async () => {
      await keyValue.addCapped(key, 5, null, 400)
      await keyValue.addCapped(key, 5, null, long_ms)
      expect(await keyValue.get(key)).toBe(10)
      await vi.waitFor(async () => expect(await keyValue.get(key)).toBeNull(), patience)
      expect(await keyValue.addCapped(key, 1, 10, long_ms)).toEqual({ added: true, total: 1 })
    })

    it('remembers counters after it was closed', async () => {
      await keyValue.addCapped(key, 5, null, long_ms)
      await keyValue.hitWindow(key, 2, long_ms)
      await keyValue.close()
      keyValue = await store.open()
      expect(await keyValue.get(key)).toBe(5)
      expect(await keyValue.hitWindow(key, 2, long_ms)).toMatchObject({ allowed: true, remaining: 0 })
    })

    it('allows as many hits as the limit, when many come at once too', async () => {
      const hits = await Promise.all(Array.from({ length: 30 }, () => keyValue.hitWindow(key, 10, long_ms)))
      const allowed = hits.filter((hit) => hit.allowed)
      expect(allowed).toHaveLength(10)
      expect(allowed.map(({ remaining }) => remaining).sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
      for (const { retry_after_ms, remaining } of hits) {
        expect(retry_after_ms > 0).toBe(remaining === 0)
        expect(retry_after_ms).toBeLessThanOrEqual(long_ms)
      }
    })

    it('allows the next hit when it said, whatever was refused meanwhile', async () => {
      const window_ms = 500
      for (let n = 0; n < 3; n += 1) await keyValue.hitWindow(key, 3, window_ms)
      const started = performance.now()
      const refused = await keyValue.hitWindow(key, 3, window_ms)
      expect(refused).toMatchObject({ allowed: false, remaining: 0 })
      await vi.waitFor(async () => expect((await keyValue.hitWindow(key, 3, window_ms)).allowed).toBe(true), patience)
      // Not before its time, within the millisecond that clocks are apart, and not a window later either.
      const waited_ms = performance.now() - started
      expect(waited_ms).toBeGreaterThanOrEqual(refused.retry_after_ms - 2)
      expect(waited_ms).toBeLessThan(refused.retry_after_ms + window_ms)
    })

    it('keeps keys apart', async () => {
      await keyValue.hitWindow(key, 1, long_ms)
      expect(await keyValue.hitWindow(`${key}:other`, 1, long_ms)).toMatchObject({ allowed: true })
      expect(await keyValue.hitWindow(key, 1, long_ms)).toMatchObject({ allowed: false })
      expect(await keyValue.get(key)).toBeNull()
    })

    it('is healthy while it is open', async () => {
      await keyValue.checkHealth()
      await keyValue.close()
      await expect(keyValue.checkHealth()).rejects.toThrow()
    })
  })
}
