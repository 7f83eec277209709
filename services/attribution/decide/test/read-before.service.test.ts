import type { PartitionOffsets } from '@tributary/broker/broker'
import { waitUntilRead } from '@tributary/broker/wait-until-read'
import { consumers } from '@tributary/contracts/consumers'
import { expect, test } from 'vitest'
import { createWriterWait } from '../src/writer-wait.ts'

const at = (given: Partial<PartitionOffsets>): PartitionOffsets => ({
  ...{ partition: 0, committed: null, metadata: null, earliest: 0, end: 0, oldest_unread_ms: null },
  ...given,
})
/** A group that is found at these offsets, look by look; the last ones stay. */
function groupAt(...looks: PartitionOffsets[][]) {
  let calls = 0
  const broker = { groupOffsets: async () => looks[Math.min(calls++, looks.length - 1)]! }
  return { broker, calls: () => calls, signal: new AbortController().signal }
}

test.each([
  ['an empty topic', at({})],
  ['a topic that was read', at({ committed: 7, end: 7 })],
  ['a group that never committed, on a topic that retention emptied', at({ earliest: 9, end: 9 })],
  ['a commit that retention has overtaken', at({ committed: 3, earliest: 9, end: 9 })],
])('%s is waited for with one call', async (_what, offsets) => {
  const group = groupAt([offsets, at({ ...offsets, partition: 1 })])
  expect(await waitUntilRead(consumers.clickWriter, group)).toBe(true)
  expect(group.calls()).toBe(1)
})

test('what came after the first look is not waited for', async () => {
  const first = [at({ committed: 3, end: 5 }), at({ partition: 1, committed: 4, end: 4 })]
  const group = groupAt(first, first, [at({ committed: 5, end: 9 }), at({ partition: 1, committed: 4, end: 8 })])
  expect(await waitUntilRead(consumers.installWriter, group)).toBe(true)
  expect(group.calls()).toBe(3)
})

test('a wait ends in time where it has a limit, and with its batch where it has none', async () => {
  const behind = [at({ committed: null, end: 1 })]
  expect(await waitUntilRead(consumers.clickWriter, { ...groupAt(behind), wait_ms_max: 30 })).toBe(false)
  const stop = new AbortController()
  const waiting = waitUntilRead(consumers.installWriter, { ...groupAt(behind), signal: stop.signal })
  stop.abort()
  await expect(waiting).rejects.toThrow()
})

test('health names install-writer after ten seconds, until nobody waits for it', () => {
  const wait = createWriterWait()
  wait.waiting('t/0', 9999)
  expect(wait.troubles()).toEqual([])
  wait.waiting('t/0', 10_000)
  expect(wait.troubles()).toMatchObject([{ code: 'install_writer_behind', refuses: false }])
  wait.over('t/0')
  expect(wait.troubles()).toEqual([])
})
