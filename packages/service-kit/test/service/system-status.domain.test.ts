import type { PartitionOffsets } from '@tributary/broker/broker'
import { consumers } from '@tributary/contracts/consumers'
import { expect, it } from 'vitest'
import { systemStatus } from '../../src/service/system-status.ts'

const now_ms = Date.UTC(2026, 0, 31)

const statusOf = async (offsets: PartitionOffsets[]) => {
  const status = await systemStatus({
    consumers: [consumers.eventWriter],
    broker: { groupOffsets: async () => offsets },
    health: { isReady: async () => true, bindings: async () => ({}) },
    now: () => now_ms,
  })
  return status.consumers[0]
}

it('counts what will be read where the log has not what was committed, and hides no other lag with it', async () => {
  const status = await statusOf([
    // The log went backwards: all of it will be read.
    { partition: 0, metadata: null, committed: 1000, earliest: 5, end: 20, oldest_unread_ms: now_ms - 3000 },
    // Retention was faster than the consumer.
    { partition: 1, metadata: null, committed: 2, earliest: 10, end: 14, oldest_unread_ms: now_ms - 9000 },
    { partition: 2, metadata: null, committed: 7, earliest: 0, end: 7, oldest_unread_ms: null },
  ])
  expect(status).toMatchObject({ lag: 15 + 4, oldest_unwritten_ms: 9000 })
})

it('tells no age when everything was read', async () => {
  const status = await statusOf([
    { partition: 0, metadata: null, committed: 7, earliest: 0, end: 7, oldest_unread_ms: null },
  ])
  expect(status).toMatchObject({ lag: 0, oldest_unwritten_ms: null })
})

it('has no lag where a group has never committed and its topic holds nothing, or nothing any more', async () => {
  const never = { metadata: null, committed: null, oldest_unread_ms: null }
  const status = await statusOf([
    { partition: 0, ...never, earliest: 0, end: 0 },
    { partition: 1, ...never, earliest: 40, end: 40 },
  ])
  expect(status).toMatchObject({ lag: 0, oldest_unwritten_ms: null })
})
