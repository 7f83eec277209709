import type { StampStore } from '@tributary/service-kit/consumer/stamps'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

/** Stamps, and what a reader is promised by them. */
export interface StampsSide {
  stamps: StampStore
  /** The time up to which all rows are there, exclusive. */
  seal(): Promise<number>
  dispose(): Promise<void>
}

/** The promises of every store of stamps. */
export function stampsSuite(side: string, open: () => Promise<StampsSide>): void {
  describe(`stamps: ${side}`, () => {
    let stamps: StampStore
    let seal: StampsSide['seal']
    let dispose: () => Promise<void>
    beforeAll(async () => {
      ;({ stamps, seal, dispose } = await open())
    })
    afterAll(() => dispose())

    const at = (partition: number) => ({ consumer: 'writer', topic: 'letters', partition })

    test('stamps of a partition rise, above what its owner had before, whatever the clock says', async () => {
      const first = await stamps.pin(at(0), 0)
      const second = await stamps.pin(at(0), first)
      const ahead = second + 1_000_000
      const third = await stamps.pin(at(0), ahead)
      // The clock is far behind the last stamp.
      const fourth = await stamps.pin(at(0), 0)
      expect([first < second, third > ahead, fourth > third]).toEqual([true, true, true])
      await stamps.end(at(0), fourth)
    })

    test('a batch at work holds back what is complete, and nothing else does', async () => {
      const stamp = await stamps.pin(at(1), 0)
      expect(await seal()).toBe(stamp)
      // Another owner of the partition: the batch of the first one may still be at work.
      const later = await stamps.pin(at(1), 0)
      expect(await seal()).toBe(stamp)
      // A late word of the first one does not end the batch of the second.
      await stamps.end(at(1), stamp)
      expect(await seal()).toBe(later)
      await stamps.end(at(1), later)
      // Two stamps of a millisecond are ahead of the clock.
      await expect.poll(seal).toBeGreaterThan(later)
    })

    test('no stamp is below a time that was promised, in a partition of before and in a new one', async () => {
      await stamps.end(at(2), await stamps.pin(at(2), 0))
      const complete = await seal()
      const given = [await stamps.pin(at(2), 0), await stamps.pin(at(3), 0)]
      for (const stamp of given) expect(stamp).toBeGreaterThanOrEqual(complete)
      for (const partition of [2, 3]) await stamps.end(at(partition), given[partition - 2]!)
    })

    test('open stamps are found by consumer and topic', async () => {
      const stamp = await stamps.pin(at(4), 0)
      expect(await stamps.findOpen('writer', 'letters')).toEqual([{ partition: 4, newest_ms: stamp }])
      expect(await stamps.findOpen('writer', 'parcels')).toEqual([])
      await stamps.end(at(4), stamp)
      expect(await stamps.findOpen('writer', 'letters')).toEqual([])
    })

    test('whatever is given and promised at once: no stamp is below a promise of before it', async () => {
      const given: { stamp: number; before: number }[] = []
      let promised = 0
      await Promise.all(
        Array.from({ length: 8 }, async (_, partition) => {
          let done = 0
          for (let n = 0; n < 10; n += 1) {
            const before = promised
            const stamp = await stamps.pin(at(partition), done)
            expect(await seal()).toBeLessThanOrEqual(stamp)
            given.push({ stamp, before })
            done = stamp
            await stamps.end(at(partition), stamp)
            promised = Math.max(promised, await seal())
          }
        }),
      )
      expect(given.filter(({ stamp, before }) => stamp < before)).toEqual([])
    })
  })
}
