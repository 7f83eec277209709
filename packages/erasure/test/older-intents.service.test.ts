import { appPartition, installPartition } from '@tributary/broker/partition'
import { consumers } from '@tributary/contracts/consumers'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { expect, test } from 'vitest'
import { findOlderIntents } from '../src/tombstones/older-intents.ts'

const partitions = 4
const gone = { app_id: 'app_1', install_uuid: 'gone' }
const own = installPartition(gone.app_id, gone.install_uuid, partitions)
const ofApp = appPartition(gone.app_id, partitions)
const other = (partition: number) => (partition + 1) % partitions

/** A log where each given batch is declared at offset 3, with these tombstones. */
function logWith(open: { of: keyof typeof consumers; partition: number; tombstones: number | null; to?: number }[]) {
  const broker = memoryBroker(partitions, Date.now)
  for (const { of, partition, to = 5, ...pinned } of open) {
    const { name, topic } = consumers[of]
    const note = { log: 'a', at_ms: 1, to, to_ms: 1, begun: 1, ...pinned }
    broker.setCommitted(name, topic.name, partition, { offset: 3, metadata: JSON.stringify(note) })
  }
  return broker
}
const older = async (number: number, ...open: Parameters<typeof logWith>[0]) =>
  (await findOlderIntents(logWith(open), number, [gone])).map(({ consumer, partition, tombstones }) => [
    ...[consumer, partition, tombstones],
  ])

test('an erasure waits for batches that pinned less or have pinned nothing yet', async () => {
  for (const tombstones of [0, 6, null]) {
    const found = await older(7, { of: 'eventWriter', partition: own, tombstones })
    expect(found).toEqual([['event-writer', own, tombstones]])
  }
})

test('it waits for nobody who knows the tombstone, or has nothing open', async () => {
  expect(await older(7, { of: 'eventWriter', partition: own, tombstones: 7 })).toEqual([])
  expect(await older(7, { of: 'eventWriter', partition: own, tombstones: 8 })).toEqual([])
  expect(await older(7, { of: 'eventWriter', partition: own, tombstones: 1, to: 2 })).toEqual([])
  expect(await older(7)).toEqual([])
})

test('it waits in the partitions of the install and of its app, and anywhere for clicks', async () => {
  const all = (partitionOf: (partition: number) => number) =>
    older(
      7,
      { of: 'eventWriter', partition: partitionOf(own), tombstones: 1 },
      { of: 'installFinder', partition: partitionOf(own), tombstones: 1 },
      { of: 'installWriter', partition: partitionOf(own), tombstones: 1 },
      { of: 'installAttributor', partition: partitionOf(ofApp), tombstones: 1 },
      { of: 'clickWriter', partition: partitionOf(own), tombstones: 1 },
      { of: 'postbackWriter', partition: partitionOf(own), tombstones: null },
    )
  expect((await all((n) => n)).map(([consumer]) => consumer).toSorted()).toEqual([
    ...['click-writer', 'event-writer', 'install-attributor', 'install-finder', 'install-writer'],
  ])
  expect((await all(other)).map(([consumer]) => consumer)).toEqual(['click-writer'])
})
