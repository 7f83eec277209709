import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedKeyValue, openEmbeddedKeyValue } from '@tributary/key-value/embedded'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const patience = { timeout: 180_000, interval: 100 }

describe('the embedded key-value store', () => {
  let dir: string
  let clock_ms = 0
  const now = () => clock_ms
  beforeEach(async () => {
    clock_ms = Date.UTC(2026, 0, 31)
    dir = await mkdtemp(join(tmpdir(), 'tributary-key-value-'))
  })
  afterEach(() => rm(dir, { recursive: true, force: true }))

  /** What a process that starts now, after a kill of the first one, would know: the quota, and what is left of the rate. */
  async function seenByAnother(): Promise<[number | null, number]> {
    const path = join(dir, 'killed')
    await rm(path, { recursive: true, force: true })
    await mkdir(path)
    await copyFile(join(dir, 'data.mdb'), join(path, 'data.mdb'))
    const other = await openEmbeddedKeyValue({ dir: path, now })
    const { remaining } = await other.hitWindow('rate', 2, 5000)
    const quota = await other.get('quota')
    await other.close()
    return [quota, remaining]
  }

  const steps = fc.array(
    fc.oneof(
      fc.record({ step: fc.constant('hit' as const), key: fc.constantFrom('a', 'b') }),
      fc.record({
        step: fc.constant('add' as const),
        key: fc.constantFrom('a', 'b'),
        n: fc.integer({ min: -4, max: 6 }),
        cap: fc.option(fc.integer({ min: 0, max: 12 })),
      }),
      fc.record({ step: fc.constant('pass' as const), ms: fc.constantFrom(0, 1, 10, 24, 25, 50) }),
      fc.record({ step: fc.constant('remove' as const), key: fc.constantFrom('a', 'b') }),
      fc.record({ step: fc.constant('sweep' as const) }),
      fc.record({ step: fc.constant('reopen' as const) }),
    ),
    { minLength: 30, maxLength: 60, size: 'max' },
  )
  const window_ms = 50
  const limit = 3
  const ttl_ms = 60

  /** Looks at every allowed hit of the past each time, and at every add. */
  function bruteForce() {
    const hits: { key: string; at_ms: number }[] = []
    const counters = new Map<string, { total: number; since_ms: number }>()
    const inWindow = (key: string, at_ms: number) =>
      hits.filter((hit) => hit.key === key && hit.at_ms > at_ms - window_ms && hit.at_ms <= at_ms).length
    const counter = (key: string) => {
      const found = counters.get(key)
      return found !== undefined && clock_ms < found.since_ms + ttl_ms ? found : undefined
    }
    return {
      hit(key: string) {
        const allowed = inWindow(key, clock_ms) < limit
        if (allowed) hits.push({ key, at_ms: clock_ms })
        let retry_after_ms = 0
        while (inWindow(key, clock_ms + retry_after_ms) >= limit) retry_after_ms += 1
        return { allowed, remaining: limit - inWindow(key, clock_ms), retry_after_ms }
      },
      add(key: string, n: number, cap: number | null) {
        const found = counter(key)
        const total = Math.max(0, (found?.total ?? 0) + n)
        if (n > 0 && cap !== null && total > cap) return { added: false, total: found?.total ?? 0 }
        counters.set(key, { total, since_ms: found?.since_ms ?? clock_ms })
        return { added: true, total }
      },
      remove: (key: string) => counters.delete(key),
      get: (key: string) => counter(key)?.total ?? null,
    }
  }

  it('answers like a model that remembers everything', async () => {
    let runs = 0
    await fc.assert(
      fc.asyncProperty(steps, async (todo) => {
        const path = join(dir, `${runs++}`)
        let keyValue: EmbeddedKeyValue = await openEmbeddedKeyValue({ dir: path, now })
        const model = bruteForce()
        for (const item of todo) {
          if (item.step === 'pass') clock_ms += item.ms
          else if (item.step === 'sweep') await keyValue.sweep()
          else if (item.step === 'remove') {
            await keyValue.remove(item.key)
            model.remove(item.key)
          } else if (item.step === 'reopen') {
            await keyValue.close()
            keyValue = await openEmbeddedKeyValue({ dir: path, now })
          } else if (item.step === 'hit') {
            expect(await keyValue.hitWindow(item.key, limit, window_ms)).toEqual(model.hit(item.key))
          } else {
            const added = await keyValue.addCapped(item.key, item.n, item.cap, ttl_ms)
            expect(added).toMatchObject(model.add(item.key, item.n, item.cap))
            expect(await keyValue.get(item.key)).toBe(model.get(item.key))
          }
        }
        await keyValue.close()
      }),
      { numRuns: 25 },
    )
  })

  it('lets a hit go exactly when it is as old as the window', async () => {
    const keyValue = await openEmbeddedKeyValue({ dir, now })
    await keyValue.hitWindow('a', 2, 50)
    clock_ms += 25
    await keyValue.hitWindow('a', 2, 50)
    clock_ms += 24
    expect(await keyValue.hitWindow('a', 2, 50)).toEqual({ allowed: false, remaining: 0, retry_after_ms: 1 })
    clock_ms += 1
    expect(await keyValue.hitWindow('a', 2, 50)).toEqual({ allowed: true, remaining: 0, retry_after_ms: 25 })
    await keyValue.close()
  })

  it('sweeps windows that lie in the future, also after a restart', async () => {
    clock_ms += 86_400_000
    const ahead = await openEmbeddedKeyValue({ dir, now })
    for (let n = 0; n < 50; n += 1) await ahead.hitWindow(`net:${n}`, 3, 1000)
    await ahead.close()
    clock_ms -= 86_400_000
    const corrected = await openEmbeddedKeyValue({ dir, now })
    expect(await corrected.hitWindow('net:0', 1, 1000)).toMatchObject({ allowed: true })
    expect(await corrected.sweep()).toBe(49)
    await corrected.close()
  })

  it('never allows a hit with a limit of 0, and obeys a limit that was lowered', async () => {
    const keyValue = await openEmbeddedKeyValue({ dir, now })
    expect(await keyValue.hitWindow('none', 0, 1000)).toEqual({ allowed: false, remaining: 0, retry_after_ms: 1000 })
    for (let n = 0; n < 5; n += 1) {
      await keyValue.hitWindow('a', 5, 1000)
      clock_ms += 100
    }
    // Hits at 0, 100, .. 400; now 500. Two are allowed again once the one at 300 has gone: at 1300.
    expect(await keyValue.hitWindow('a', 2, 1000)).toEqual({ allowed: false, remaining: 0, retry_after_ms: 800 })
    await keyValue.close()
  })

  it('writes counters while it is open, and windows when it is closed', async () => {
    const keyValue = await openEmbeddedKeyValue({ dir, now })
    await keyValue.hitWindow('rate', 2, 5000)
    await keyValue.addCapped('quota', 7, null, 5000)
    await vi.waitFor(async () => expect(await seenByAnother()).toEqual([7, 1]), patience)
    // The timer begins anew with each change.
    await keyValue.addCapped('quota', 1, null, 5000)
    await vi.waitFor(async () => expect(await seenByAnother()).toEqual([8, 1]), patience)
    await keyValue.close()
    expect(await seenByAnother()).toEqual([8, 0])
  })

  it('forgets expired keys for good', async () => {
    const keyValue = await openEmbeddedKeyValue({ dir, now })
    for (let n = 0; n < 50; n += 1) await keyValue.hitWindow(`net:${n}`, 3, 1000)
    await keyValue.addCapped('quota', 1, null, 5000)
    clock_ms += 1000
    expect(await keyValue.sweep()).toBe(50)
    expect(await keyValue.sweep()).toBe(0)
    await keyValue.close()
    const again = await openEmbeddedKeyValue({ dir, now })
    expect(await again.get('quota')).toBe(1)
    clock_ms += 5000
    expect(await again.get('quota')).toBeNull()
    expect(await again.sweep()).toBe(1)
    await again.close()
  })

  it('lets requests in while it writes, sweeps and closes, and keeps what they count', async () => {
    const before = await openEmbeddedKeyValue({ dir, now })
    for (let n = 0; n < 10_000; n += 1) await before.addCapped(`old ${n}`, 1, null, 1000)
    await before.close()
    const keyValue = await openEmbeddedKeyValue({ dir, now })
    clock_ms += 1000
    const sweeping = keyValue.sweep()
    let turns = 0
    const count = async () => {
      for (; turns < 100; turns += 1) {
        await keyValue.addCapped('old 7', 1, null, 5000)
        await keyValue.addCapped(`new ${turns}`, 1, null, 5000)
        await new Promise(setImmediate)
      }
    }
    await Promise.race([sweeping, count()])
    expect(turns).toBeGreaterThan(5)
    const counted = await keyValue.get('old 7')
    await keyValue.close()
    expect(await sweeping).toBeGreaterThanOrEqual(9999)
    const again = await openEmbeddedKeyValue({ dir, now })
    expect(await again.get('old 7')).toBe(counted)
    expect(await again.get('old 8')).toBeNull()
    expect(await again.get('new 0')).toBe(1)
    await again.close()
  })
})
