import { randomUUID } from 'node:crypto'
import type { KeyValue } from '@tributary/key-value/key-value'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

/** One store that can be opened again after it was closed. */
export interface KeyValueUnderTest {
  open(): Promise<KeyValue>
  /** Moves the clock of the store, as far as it concerns this key. */
  moveClock(key: string, ms: number): Promise<void>
  dispose(): Promise<void>
}

const patience = { timeout: 180_000, interval: 10 }
const long_ms = 600_000

/** The promises of every key-value store (key-value.ts). Time is real, because Redis has its own clock. */
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
      expect(await keyValue.addCapped(key, 7, 10, long_ms)).toMatchObject({ added: true, total: 7 })
      expect(await keyValue.addCapped(key, 4, 10, long_ms)).toMatchObject({ added: false, total: 7 })
      expect(await keyValue.addCapped(key, 3, 10, long_ms)).toMatchObject({ added: true, total: 10 })
      expect(await keyValue.get(key)).toBe(10)
      expect(await keyValue.addCapped(key, 1000, null, long_ms)).toMatchObject({ added: true, total: 1010 })
    })

    it('stores no key for a refused add', async () => {
      expect(await keyValue.addCapped(key, 11, 10, long_ms)).toMatchObject({ added: false, total: 0 })
      expect(await keyValue.get(key)).toBeNull()
    })

    it('gives back with a negative add, never below zero, even above the cap', async () => {
      await keyValue.addCapped(key, 10, null, long_ms)
      expect(await keyValue.addCapped(key, -3, 5, long_ms)).toMatchObject({ added: true, total: 7 })
      expect(await keyValue.addCapped(key, -100, 5, long_ms)).toMatchObject({ added: true, total: 0 })
      expect(await keyValue.get(key)).toBe(0)
    })

    it('removes a counter, one that is not there too, and counts anew', async () => {
      await keyValue.remove(key)
      await keyValue.addCapped(key, 5, null, long_ms)
      await keyValue.remove(key)
      expect(await keyValue.get(key)).toBeNull()
      expect(await keyValue.addCapped(key, 2, 3, long_ms)).toMatchObject({ added: true, total: 2 })
    })

    it('only raises a counter when it settles without a mark', async () => {
      expect(await keyValue.reconcile(key, 0, null, long_ms)).toBe(0)
      expect(await keyValue.get(key)).toBeNull()
      expect(await keyValue.reconcile(key, 40, null, long_ms)).toBe(40)
      expect(await keyValue.reconcile(key, 30, null, long_ms)).toBe(40)
      expect(await keyValue.addCapped(key, 2, 50, long_ms)).toMatchObject({ added: true, total: 42 })
      expect(await keyValue.reconcile(key, 5_000_000_000_000, 'no mark', long_ms)).toBe(5_000_000_000_000)
      expect(await keyValue.get(key)).toBe(5_000_000_000_000)
    })

    it('removes the excess at the mark, and keeps later adds', async () => {
      expect(await keyValue.mark(key, 'a')).toBeNull()
      await keyValue.addCapped(key, 5_000_000_000_010, null, long_ms)
      expect(await keyValue.mark(key, 'a')).toBe(5_000_000_000_010)
      await keyValue.addCapped(key, 7, null, long_ms)
      expect(await keyValue.get(key)).toBe(5_000_000_000_017)
      expect(await keyValue.reconcile(key, 5_000_000_000_004, 'a', long_ms)).toBe(5_000_000_000_011)
      expect(await keyValue.reconcile(key, 1, 'a', long_ms)).toBe(5_000_000_000_011)
    })

    it('does not remove the excess twice when it was given back since the mark', async () => {
      await keyValue.addCapped(key, 10, null, long_ms)
      await keyValue.mark(key, 'a')
      await keyValue.addCapped(key, 5, null, long_ms)
      await keyValue.addCapped(key, -4, null, long_ms)
      expect(await keyValue.reconcile(key, 6, 'a', long_ms)).toBe(11)
    })

    it('leaves a mark as it is when what was added after it is given back', async () => {
      await keyValue.addCapped(key, 10, null, long_ms)
      await keyValue.mark(key, 'a')
      const { mark_id } = await keyValue.addCapped(key, 5, null, long_ms)
      expect(mark_id).toBe('a')
      await keyValue.addCapped(key, -5, null, long_ms, mark_id)
      expect(await keyValue.reconcile(key, 6, 'a', long_ms)).toBe(6)
      await keyValue.mark(key, 'b')
      await keyValue.addCapped(key, -2, null, long_ms, 'a')
      expect(await keyValue.reconcile(key, 4, 'b', long_ms)).toBe(4)
    })

    it('settles only by the newest mark, also after a restart', async () => {
      await keyValue.addCapped(key, 10, null, long_ms)
      await keyValue.mark(key, 'a')
      await keyValue.mark(key, 'b')
      expect(await keyValue.reconcile(key, 4, 'a', long_ms)).toBe(10)
      expect(await keyValue.reconcile(key, 4, null, long_ms)).toBe(10)
      await keyValue.close()
      keyValue = await store.open()
      expect(await keyValue.reconcile(key, 4, 'b', long_ms)).toBe(4)
      await keyValue.mark(key, 'c')
      expect(await keyValue.reconcile(key, 9, 'c', long_ms)).toBe(9)
    })

    it('counts exactly under parallel adds', async () => {
      const adds = await Promise.all(Array.from({ length: 60 }, () => keyValue.addCapped(key, 2, 50, long_ms)))
      expect(adds.filter(({ added }) => added)).toHaveLength(25)
      expect(new Set(adds.filter(({ added }) => added).map(({ total }) => total)).size).toBe(25)
      expect(await keyValue.get(key)).toBe(50)
    })

    it('holds quotas of trillions', async () => {
      const much = 5_000_000_000_000
      expect(await keyValue.addCapped(key, much, much + 1, long_ms)).toMatchObject({ added: true, total: much })
      expect(await keyValue.addCapped(key, 2, much + 1, long_ms)).toMatchObject({ added: false, total: much })
    })

    it('forgets a key after its lifetime, counted from the first add', async () => {
      await keyValue.addCapped(key, 5, null, 400)
      await keyValue.addCapped(key, 5, null, long_ms)
      expect(await keyValue.get(key)).toBe(10)
      await vi.waitFor(async () => expect(await keyValue.get(key)).toBeNull(), patience)
      expect(await keyValue.addCapped(key, 1, 10, long_ms)).toMatchObject({ added: true, total: 1 })
    })

    it('keeps counters over a restart', async () => {
      await keyValue.addCapped(key, 5, null, long_ms)
      await keyValue.hitWindow(key, 2, long_ms)
      await keyValue.close()
      keyValue = await store.open()
      expect(await keyValue.get(key)).toBe(5)
      expect(await keyValue.hitWindow(key, 2, long_ms)).toMatchObject({ allowed: true, remaining: 0 })
    })

    it('allows exactly as many hits as the limit, also in parallel', async () => {
      const hits = await Promise.all(Array.from({ length: 30 }, () => keyValue.hitWindow(key, 10, long_ms)))
      const allowed = hits.filter((hit) => hit.allowed)
      expect(allowed).toHaveLength(10)
      expect(allowed.map(({ remaining }) => remaining).sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
      for (const { retry_after_ms, remaining } of hits) {
        expect(retry_after_ms > 0).toBe(remaining === 0)
        expect(retry_after_ms).toBeLessThanOrEqual(long_ms)
      }
    })

    it('allows the next hit after retry_after_ms, whatever was refused meanwhile', async () => {
      const window_ms = 500
      for (let n = 0; n < 3; n += 1) await keyValue.hitWindow(key, 3, window_ms)
      const started = performance.now()
      const refused = await keyValue.hitWindow(key, 3, window_ms)
      expect(refused).toMatchObject({ allowed: false, remaining: 0 })
      await vi.waitFor(async () => expect((await keyValue.hitWindow(key, 3, window_ms)).allowed).toBe(true), patience)
      // The hit is not early, but for the millisecond by which clocks differ, and less than a window late.
      const waited_ms = performance.now() - started
      expect(waited_ms).toBeGreaterThanOrEqual(refused.retry_after_ms - 2)
      expect(waited_ms).toBeLessThan(refused.retry_after_ms + window_ms)
    })

    // A move of a whole window and more, both ways: what the windows and keys of gateways meet when a clock is corrected.
    const moves: [string, number][] = [
      ['a minute', 60_000],
      ['an hour', 3_600_000],
      ['a day', 86_400_000],
    ]
    describe.each(moves)('when its clock is moved by %s', (_name, jump_ms) => {
      const window_ms = 30_000

      it('refuses nobody for hits of a clock that was ahead, and allows no more than the limit from then on', async () => {
        await store.moveClock(key, jump_ms)
        for (let n = 0; n < 3; n += 1) await keyValue.hitWindow(key, 3, window_ms)
        expect(await keyValue.hitWindow(key, 3, window_ms)).toMatchObject({ allowed: false })
        await store.moveClock(key, -jump_ms)
        const after = []
        for (let n = 0; n < 4; n += 1) after.push(await keyValue.hitWindow(key, 3, window_ms))
        expect(after.map(({ allowed }) => allowed)).toEqual([true, true, true, false])
        expect(after[3]?.retry_after_ms).toBeLessThanOrEqual(window_ms)
      })

      it('allows the hits of a new window when its clock was behind', async () => {
        for (let n = 0; n < 3; n += 1) await keyValue.hitWindow(key, 3, window_ms)
        await store.moveClock(key, jump_ms)
        expect(await keyValue.hitWindow(key, 3, window_ms)).toMatchObject({ allowed: true, remaining: 2 })
      })

      it('keeps a counter that was made by a clock that was ahead, no longer than its lifetime from now on', async () => {
        const ttl_ms = 30_000
        await store.moveClock(key, jump_ms)
        await keyValue.addCapped(key, 5, null, ttl_ms)
        await store.moveClock(key, -jump_ms)
        expect(await keyValue.get(key, ttl_ms)).toBe(5)
        await store.moveClock(key, ttl_ms)
        expect(await keyValue.get(key)).toBeNull()
      })

      it.each<[string, () => Promise<unknown>]>([
        ['an add', () => keyValue.addCapped(key, 1, null, 30_000)],
        ['a reconciliation', () => keyValue.reconcile(key, 6, null, 30_000)],
      ])('ends the lifetime that a clock ahead gave to a counter with %s', async (_what, touch) => {
        await store.moveClock(key, jump_ms)
        await keyValue.addCapped(key, 5, null, 30_000)
        await store.moveClock(key, -jump_ms)
        await touch()
        expect(await keyValue.get(key)).toBe(6)
        await store.moveClock(key, 30_000)
        expect(await keyValue.get(key)).toBeNull()
      })

      it('ends the lifetime that a clock ahead gave to a full counter with an add that it refuses', async () => {
        await store.moveClock(key, jump_ms)
        await keyValue.addCapped(key, 5, null, 30_000)
        await store.moveClock(key, -jump_ms)
        expect(await keyValue.addCapped(key, 1, 5, 30_000)).toMatchObject({ added: false, total: 5 })
        await store.moveClock(key, 30_000)
        expect(await keyValue.addCapped(key, 1, 5, 30_000)).toMatchObject({ added: true, total: 1 })
      })

      it('forgets a counter early when its clock was behind, and never adds to an expired one', async () => {
        await keyValue.addCapped(key, 5, null, 30_000)
        await store.moveClock(key, jump_ms)
        expect(await keyValue.addCapped(key, 1, 10, 30_000)).toMatchObject({ added: true, total: 1 })
      })
    })

    it('reads the texts of a ring after a position, the newest first cut', async () => {
      expect(await keyValue.read(key, 0, 10)).toEqual({ texts: [], position: 0 })
      for (const text of ['a', 'b', 'c', 'd']) await keyValue.append(key, text, 3, long_ms)
      expect(await keyValue.read(key, 0, 10)).toEqual({ texts: ['b', 'c', 'd'], position: 4 })
      expect(await keyValue.read(key, 2, 10)).toEqual({ texts: ['c', 'd'], position: 4 })
      expect(await keyValue.read(key, 2, 1)).toEqual({ texts: ['d'], position: 4 })
      expect(await keyValue.read(key, 4, 10)).toEqual({ texts: [], position: 4 })
      expect(await keyValue.read(key, 0, 0)).toEqual({ texts: [], position: 4 })
      expect(await keyValue.read(`${key}:other`, 0, 10)).toEqual({ texts: [], position: 0 })
    })

    it('ends each text of a ring by itself, and reads a ring that began anew from its first text', async () => {
      await keyValue.append(key, 'old', 3, 400)
      await keyValue.append(key, 'new', 3, long_ms)
      await vi.waitFor(async () => expect((await keyValue.read(key, 0, 10)).texts).toEqual(['new']), patience)
      expect(await keyValue.read(key, 1000, 10)).toEqual({ texts: ['new'], position: 2 })
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
