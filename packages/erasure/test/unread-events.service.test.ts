import { consumers } from '@tributary/contracts/consumers'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { expect, test } from 'vitest'
import { noteLog } from '../src/tombstones/unread-events.ts'

const { name, topic } = consumers.eventWriter

test('what stood in the log is unread until event-writer has committed behind it, and what came later does not count', async () => {
  const broker = memoryBroker(2, () => 0)
  const publish = (partition: number) =>
    broker.publish([{ topic: topic.name, partition, key: null, value: Buffer.from('x') }])
  await publish(1)
  await publish(1)
  const unread = await noteLog(broker)
  expect(await unread()).toEqual([{ consumer: name, partition: 1 }])
  await publish(0)
  expect(await unread()).toEqual([{ consumer: name, partition: 1 }])
  const reading = await broker.consume({
    ...{ group: name, topic: topic.name, bytes_min: 1, bytes_max: 1000, wait_ms_max: 1 },
    async onChunk({ commit, records }) {
      await commit(records.at(-1)!.offset + 1, '')
    },
  })
  await expect.poll(unread).toEqual([])
  await reading.close()
})
