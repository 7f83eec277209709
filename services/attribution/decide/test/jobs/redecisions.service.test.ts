import { appPartition } from '@tributary/broker/partition'
import { memoryRedecisions } from '@tributary/testing/twins/memory-redecisions'
import { memoryTombstones } from '@tributary/testing/twins/memory-tombstones'
import { expect, test } from 'vitest'
import { redecisionsJob } from '../../src/jobs/redecisions.ts'

const partitions = 2
/** Apps of a partition. */
const appsOf = (partition: number, count: number): string[] =>
  Array.from({ length: 50 * count }, (_, n) => `app_${n}`)
    .filter((app_id) => appPartition(app_id, partitions) === partition)
    .slice(0, count)

/** A job over idle partitions; each run gives back the partitions in which it begins a batch. */
function start() {
  const redecisions = memoryRedecisions({ partitions })
  const erased = memoryTombstones()
  const begun: number[] = []
  const committed = { committed: 1, metadata: null, earliest: 0, end: 1, oldest_unread_ms: null }
  const broker = {
    groupOffsets: async () => [0, 1].map((partition) => ({ partition, ...committed })),
    publish: async (records: readonly { partition?: number }[]) =>
      void begun.push(...records.map((record) => record.partition!)),
  }
  const job = redecisionsJob({ redecisions, broker, erased })
  const run = async () => {
    await job()
    return begun.splice(0)
  }
  const lock = (app_id: string) => {
    erased.erase(app_id, 'gone', 1)
    erased.locked.add(app_id)
  }
  return { redecisions, erased, run, lock }
}

test('no batch begins for entries of locked apps alone, until one is unlocked or another app has an entry', async () => {
  const { redecisions, erased, run, lock } = start()
  const locked = appsOf(0, 250)
  for (const app_id of locked) lock(app_id)
  await redecisions.add(locked.map((app_id) => ({ app_id, install_uuid: 'i' })))
  expect(await run()).toEqual([])
  const [far] = appsOf(1, 1)
  await redecisions.add([{ app_id: far!, install_uuid: 'i' }])
  expect(await run()).toEqual([1])
  erased.locked.delete(locked.toSorted().at(-1)!)
  expect(await run()).toEqual([0, 1])
})

test('a batch begins for an app that is not locked beside locked ones', async () => {
  const { redecisions, run, lock } = start()
  const [locked, open] = appsOf(0, 2) as [string, string]
  lock(locked)
  await redecisions.add([locked, open].map((app_id) => ({ app_id, install_uuid: 'i' })))
  expect(await run()).toEqual([0])
})
