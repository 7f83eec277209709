import { expect, it, vi } from 'vitest'
import { type LogUnderTest, patience, textsOf } from './log-under-test.ts'

/** Delivery of chunks: their bounds, their order, and one call at a time per partition. */
export function chunksSuite(log: LogUnderTest): void {
  it('delivers a failed chunk again, and the other partitions meanwhile', async () => {
    await log.publishTexts(['bad', 'next'], 0)
    const refused: string[][] = []
    const { records, close } = await log.consume(async (chunk) => {
      if (chunk.partition === 0 && refused.length < 3) {
        refused.push(textsOf(chunk.records))
        if (refused.length === 1) await log.publishTexts(['good'], 1)
        throw new Error('not now')
      }
    })
    await vi.waitFor(() => expect(records()).toHaveLength(3), patience)
    await close()
    for (const texts of refused) expect(texts[0]).toBe('bad')
    expect(textsOf(records().filter(({ partition }) => partition === 0))).toEqual(['bad', 'next'])
  })

  it('calls once at a time per partition', async () => {
    const gate = Promise.withResolvers<void>()
    let calls = 0
    const { records, close } = await log.consume(
      async ({ partition }) => {
        if (partition === 1) return
        calls += 1
        await gate.promise
      },
      { bytes_max: 60 },
    )
    const texts = Array.from({ length: 20 }, (_, n) => `${n}`)
    for (const text of texts) await log.publishTexts([text])
    await vi.waitFor(() => expect(calls).toBe(1), patience)
    // Later records of another partition arrive while the first call is still open.
    for (const text of texts) await log.publishTexts([text], 1)
    await vi.waitFor(() => expect(records()).toHaveLength(20), patience)
    expect(calls).toBe(1)
    gate.resolve()
    await vi.waitFor(() => expect(records()).toHaveLength(40), patience)
    await close()
    expect(textsOf(records().filter(({ partition }) => partition === 0))).toEqual(texts)
  })

  it('bounds chunks by bytes, yet delivers a record above the bound', async () => {
    for (let n = 0; n < 6; n += 1) await log.publishTexts([`${n}`.repeat(n === 3 ? 50_000 : 10_000)])
    const { taken, records, close } = await log.consume(undefined, { bytes_max: 25_000 })
    await vi.waitFor(() => expect(records()).toHaveLength(6), patience)
    await close()
    expect(taken.length).toBeGreaterThan(1)
    expect(records().map(({ value }) => value.length)).toEqual([10_000, 10_000, 10_000, 50_000, 10_000, 10_000])
  })

  it('continues with a partition while another one holds all the bytes that may be held', async () => {
    const texts = Array.from({ length: 20 }, (_, n) => `${n} ${'x'.repeat(5000)}`)
    for (const partition of [0, 1]) await log.publishTexts(texts, partition)
    const gate = Promise.withResolvers<void>()
    const { records, close } = await log.consume(
      ({ partition }) => (partition === 0 ? gate.promise : Promise.resolve()),
      {
        bytes_max: 20_000,
        bytes_total_max: 20_000,
      },
    )
    const textsOfPartition = (wanted: number) => textsOf(records().filter(({ partition }) => partition === wanted))
    await vi.waitFor(() => expect(textsOfPartition(1)).toEqual(texts), patience)
    gate.resolve()
    await vi.waitFor(() => expect(textsOfPartition(0)).toEqual(texts), patience)
    await close()
  })

  it('delivers a lone record that is smaller than bytes_min', async () => {
    const { records, close } = await log.consume(undefined, { bytes_min: 1024 * 1024, wait_ms_max: 200 })
    await log.publishTexts(['alone'])
    await vi.waitFor(() => expect(textsOf(records())).toEqual(['alone']), patience)
    await close()
  })

  it('names the end of the partition in each chunk', async () => {
    await log.publishTexts(['a', 'b', 'c'])
    const { taken, close } = await log.consume()
    await vi.waitFor(() => expect(taken.length).toBeGreaterThan(0), patience)
    await close()
    const [partition] = await log.broker.groupOffsets(log.group, log.topic)
    expect(taken[0]!.end_offset).toBe(partition!.end)
  })
}
