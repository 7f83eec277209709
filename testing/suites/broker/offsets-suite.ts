import type { LogRecord } from '@tributary/broker/broker'
import { lagOf } from '@tributary/broker/unread'
import { expect, it, vi } from 'vitest'
import { commitAll, type LogUnderTest, patience, textsOf } from './log-under-test.ts'

/** Offsets: by time, after a rewind, and beyond the end of the log. */
export function offsetsSuite(log: LogUnderTest): void {
  it('finds the first record after a time', async () => {
    const { records, close } = await log.consume()
    await vi.waitFor(async () => {
      await log.publishTexts(['a', 'b'])
      expect(new Set(records().map(({ timestamp_ms }) => timestamp_ms)).size).toBeGreaterThan(2)
    }, patience)
    await close()
    const all = records()
    const { timestamp_ms: first_ms } = all[0]!
    for (const time_ms of new Set([0, first_ms - 1, ...all.slice(0, -2).map(({ timestamp_ms }) => timestamp_ms)])) {
      const later = all.find(({ timestamp_ms }) => timestamp_ms > time_ms)
      if (later !== undefined) expect(await log.broker.firstOffsetAfter(log.topic, 0, time_ms)).toBe(later.offset)
    }
    const [{ end } = { end: -1 }] = await log.broker.groupOffsets(log.group, log.topic)
    expect(await log.broker.firstOffsetAfter(log.topic, 0, Date.now() + 60_000)).toBe(end)
    expect(await log.broker.firstOffsetAfter(log.topic, 1, 0)).toBe(0)
    await expect(log.broker.firstOffsetAfter(log.topic, 2, 0)).rejects.toThrow('no partition 2')
  })

  it('reads everything again in order after a rewind while more is published', async () => {
    const published = Array.from({ length: 30 }, (_, n) => `${n} ${'x'.repeat(1000)}`)
    await log.publishTexts(published)
    let stopped = false
    const publishing = (async () => {
      for (let n = 30; !stopped; n += 1) {
        const text = `${n} ${'x'.repeat(1000)}`
        await log.publishTexts([text])
        published.push(text)
      }
    })()
    const rewinds: number[] = []
    const delivered: LogRecord[] = []
    const { close } = await log.consume(
      async (chunk) => {
        const last = chunk.records.at(-1)!.offset
        if (last >= 20 * (rewinds.length + 1) && rewinds.length < 3) {
          rewinds.push(delivered.length)
          await chunk.rewind(0)
          throw new Error('read again')
        }
        delivered.push(...chunk.records)
        await commitAll(chunk)
      },
      { bytes_max: 10_000 },
    )
    await vi.waitFor(() => expect(rewinds).toHaveLength(3), patience)
    const before = delivered.length
    await vi.waitFor(() => expect(delivered.length).toBeGreaterThan(before + 100), patience)
    stopped = true
    await publishing
    await vi.waitFor(() => expect(textsOf(delivered.slice(-1))).toEqual(published.slice(-1)), patience)
    await close()
    const runs = [0, ...rewinds].map((from, n) => textsOf(delivered.slice(from, rewinds[n])))
    for (const run of runs) expect(run).toEqual(published.slice(0, run.length))
    expect(runs.at(-1)).toEqual(published)
  })

  it('reads from the earliest record when more was committed than the log holds, and keeps what was committed', async () => {
    await log.publishTexts(['a', 'b'])
    const lost = await log.consume((chunk) => chunk.commit(1000, 'intent'))
    await vi.waitFor(() => expect(lost.records()).toHaveLength(2), patience)
    await lost.close()
    const [offsets] = await log.broker.groupOffsets(log.group, log.topic)
    expect(offsets).toMatchObject({ committed: 1000, earliest: 0, end: 2 })
    expect(lagOf(offsets!)).toBe(2)
    expect(offsets!.oldest_unread_ms).toBeGreaterThan(Date.now() - 60_000)
    for (const texts of [
      ['a', 'b'],
      ['a', 'b', 'c'],
    ]) {
      const seen: unknown[] = []
      const again = await log.consume(async (chunk) => {
        seen.push(await chunk.committed())
      })
      await vi.waitFor(() => expect(textsOf(again.records())).toEqual(texts), patience)
      expect(again.taken.at(-1)!.end_offset).toBe(texts.length)
      await log.publishTexts(['c'])
      await vi.waitFor(() => expect(textsOf(again.records())).toEqual([...texts, 'c']), patience)
      await again.close()
      expect(new Set(seen.map((committed) => JSON.stringify(committed)))).toEqual(
        new Set([JSON.stringify({ offset: 1000, metadata: 'intent' })]),
      )
    }
  })

  it('limits a rewind to the records of the log, and refuses a negative offset', async () => {
    await log.publishTexts(['a', 'b'])
    const refused: unknown[] = []
    const { records, close } = await log.consume(async (chunk) => {
      if (refused.length > 0) return
      refused.push(await chunk.rewind(-1).catch((error: unknown) => error))
      await chunk.rewind(1000)
      throw new Error('read again')
    })
    await vi.waitFor(() => expect(textsOf(records())).toEqual(['a', 'b']), patience)
    await close()
    expect(refused).toEqual([expect.any(RangeError)])
  })
}
