import { type Chunk, FencedError } from '@tributary/broker/broker'
import { lagOf } from '@tributary/broker/unread'
import { expect, it, vi } from 'vitest'
import { commitAll, type LogUnderTest, patience, textsOf } from './log-under-test.ts'

/** Consumer groups: their commits, shared partitions, fencing and unread records. */
export function groupsSuite(log: LogUnderTest): void {
  it('starts at the earliest record, and after a restart where the group has committed', async () => {
    await log.publishTexts(['a', 'b', 'c'])
    const first = await log.consume((chunk) => chunk.commit(chunk.records[0]!.offset + 1, '{"to":"ü"}'))
    await vi.waitFor(() => expect(first.taken.length).toBeGreaterThan(0), patience)
    const committed = first.taken[0]!.records[0]!.offset + 1
    await first.close()
    expect(textsOf(first.records())[0]).toBe('a')
    await log.broker.close()
    await log.reopen()

    const seen: unknown[] = []
    const second = await log.consume(async (chunk) => void seen.push(await chunk.committed()))
    await vi.waitFor(() => expect(second.records()).toHaveLength(2), patience)
    await second.close()
    expect(seen[0]).toEqual({ offset: committed, metadata: '{"to":"ü"}' })
    expect(textsOf(second.records())).toEqual(['b', 'c'])
  })

  it('commits only what the consumer commits', async () => {
    await log.publishTexts(['a', 'b'])
    const first = await log.consume()
    await vi.waitFor(() => expect(first.records()).toHaveLength(2), patience)
    expect(await first.taken[0]!.committed()).toBeNull()
    await first.close()
    expect((await log.broker.groupOffsets(log.group, log.topic)).map(({ committed }) => committed)).toEqual([
      null,
      null,
    ])
    const second = await log.consume()
    await vi.waitFor(() => expect(textsOf(second.records())).toEqual(['a', 'b']), patience)
    await second.close()
  })

  it('keeps 4096 bytes of metadata', async () => {
    await log.publishTexts(['a'])
    const metadata = 'm'.repeat(4096)
    const { taken, close } = await log.consume((chunk) => chunk.commit(chunk.records[0]!.offset, metadata))
    await vi.waitFor(() => expect(taken).toHaveLength(1), patience)
    expect((await taken[0]!.committed())?.metadata).toBe(metadata)
    await close()
  })

  it('gives each group every record', async () => {
    await log.publishTexts(['a'])
    const mine = await log.consume(commitAll)
    const other = await log.consume(commitAll, { group: `${log.group}-other` })
    await vi.waitFor(() => expect(textsOf(mine.records())).toEqual(['a']), patience)
    await vi.waitFor(() => expect(textsOf(other.records())).toEqual(['a']), patience)
    await Promise.all([mine.close(), other.close()])
  })

  it('shares partitions among members, and gives them back in a new generation', async () => {
    const first = await log.consume(commitAll)
    await log.publishTexts(['a'], 0)
    await log.publishTexts(['b'], 1)
    await vi.waitFor(() => expect(first.records()).toHaveLength(2), patience)
    const second = await log.consume(commitAll)
    await vi.waitFor(async () => {
      await log.publishTexts(['c'], 0)
      await log.publishTexts(['d'], 1)
      expect(second.taken.length).toBeGreaterThan(0)
    }, patience)
    const moved = second.taken[0]!.partition
    const lost = first.taken.find(({ partition }) => partition === moved)!
    expect(lost.signal.aborted).toBe(true)
    await second.close()
    await log.publishTexts(['last'], moved)
    await vi.waitFor(() => expect(textsOf(first.records())).toContain('last'), patience)
    await first.close()
    const back = first.taken.find(({ records }) => textsOf(records).includes('last'))!
    expect(new Set([lost.generation, second.taken[0]!.generation, back.generation]).size).toBe(3)
  })

  it('fences the commit and the rewind of a member that lost its partition', async () => {
    await log.publishTexts(['a'], 0)
    await log.publishTexts(['a'], 1)
    const received: Chunk[] = []
    const gate = Promise.withResolvers<void>()
    const first = await log.consume(async (chunk) => {
      received.push(chunk)
      await gate.promise
    })
    await vi.waitFor(() => expect(received).toHaveLength(2), patience)
    const second = await log.consume((chunk) => chunk.commit(chunk.records[0]!.offset, 'of the new owner'))
    await vi.waitFor(() => expect(second.taken.length).toBeGreaterThan(0), patience)
    const [taken] = second.taken
    const lost = received.find(({ partition }) => partition === taken!.partition)!
    expect(textsOf(taken!.records)).toEqual(['a'])
    await expect(lost.commit(lost.records[0]!.offset + 1, 'of the old owner')).rejects.toBeInstanceOf(FencedError)
    await expect(lost.rewind(0)).rejects.toBeInstanceOf(FencedError)
    expect((await taken!.committed())?.metadata).toBe('of the new owner')
    gate.resolve()
    await Promise.all([first.close(), second.close()])
  })

  it('lets the chunk in hand finish and commit before it closes', async () => {
    await log.publishTexts(['a'])
    const gate = Promise.withResolvers<void>()
    let chunkInHand: Chunk | undefined
    const consumption = await log.consume(async (chunk) => {
      chunkInHand = chunk
      await gate.promise
      await commitAll(chunk)
    })
    await vi.waitFor(() => expect(chunkInHand).toBeDefined(), patience)
    const closing = consumption.close()
    await vi.waitFor(() => expect(chunkInHand!.signal.aborted).toBe(true), patience)
    gate.resolve()
    await closing
    const [partition] = await log.broker.groupOffsets(log.group, log.topic)
    expect(partition!.committed).toBe(chunkInHand!.records.at(-1)!.offset + 1)
  })

  it('shows the unread records of a group', async () => {
    await log.publishTexts(['a', 'b'])
    const [before, empty] = await log.broker.groupOffsets(log.group, log.topic)
    expect(before).toMatchObject({ partition: 0, committed: null, earliest: 0 })
    expect(before!.end).toBeGreaterThanOrEqual(2)
    expect(before!.oldest_unread_ms).toBeGreaterThan(Date.now() - 60_000)
    expect(empty).toEqual({
      partition: 1,
      committed: null,
      metadata: null,
      earliest: 0,
      end: 0,
      oldest_unread_ms: null,
    })
    const { records, close } = await log.consume(commitAll)
    await vi.waitFor(() => expect(records()).toHaveLength(2), patience)
    await close()
    const [after] = await log.broker.groupOffsets(log.group, log.topic)
    expect(after).toMatchObject({ committed: before!.end, end: before!.end, oldest_unread_ms: null })
  })

  it('never shows all as read while a record that was read makes another one', async () => {
    const hops = 60
    await log.publishTexts(['0'])
    const { records, close } = await log.consume(async (chunk) => {
      // Each record makes the next in the other partition before it is committed, as a consumer does that asks itself.
      for (const text of textsOf(chunk.records)) {
        if (Number(text) < hops) await log.publishTexts([String(Number(text) + 1)], 1 - chunk.partition)
      }
      await commitAll(chunk)
    })
    const done: number[] = []
    await vi.waitFor(async () => {
      const before = records().length
      const offsets = await log.broker.groupOffsets(log.group, log.topic)
      if (offsets.every((place) => place.end > 0 && lagOf(place) === 0)) done.push(records().length)
      if (before <= hops) throw new Error('not yet')
    }, patience)
    await vi.waitFor(() => expect(records()).toHaveLength(hops + 1), patience)
    await close()
    expect(done.filter((count) => count < hops)).toEqual([])
  })

  it('moves a group without members, and refuses to move one with members', async () => {
    await log.publishTexts(['a', 'b'], 0)
    await log.broker.moveGroup(log.group, log.topic, [{ partition: 0, offset: 1 }])
    const [offsets] = await log.broker.groupOffsets(log.group, log.topic)
    expect(offsets).toMatchObject({ committed: 1, metadata: '' })
    const reader = await log.consume(commitAll)
    await vi.waitFor(() => expect(textsOf(reader.records())).toEqual(['b']), patience)
    await expect(log.broker.moveGroup(log.group, log.topic, [{ partition: 0, offset: 0 }])).rejects.toThrow()
    await reader.close()
  })
}
