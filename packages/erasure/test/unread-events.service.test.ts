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
  const { unread } = await noteLog(broker)
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

test('where the log of an install ended is known by the name that event-writer knows it by, and by none before it has committed', async () => {
  const broker = memoryBroker(1, () => 0)
  const install = { app_id: 'app_1', install_uuid: 'a' }
  const record = { topic: topic.name, partition: 0, key: null, value: Buffer.from('x') }
  await broker.publish([record, record])
  expect((await noteLog(broker)).endOf(install)).toBeNull()
  broker.setCommitted(name, topic.name, 0, { offset: 1, metadata: JSON.stringify({ log: 'own', at_ms: 0 }) })
  const noted = await noteLog(broker)
  await broker.publish([record])
  expect(noted.endOf(install)).toEqual({ source: `${topic.name}@own`, offset: 2 })
})
