import { deadLetterTopic, type Topic } from '@tributary/contracts/topics'
import { defineConsumer } from '@tributary/service-kit/consumer/define-consumer'
import { gatedConsumer } from '@tributary/service-kit/consumer/gated-consumer'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { type DiskSpace, openDiskWatch } from '@tributary/service-kit/service/disk-watch'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { Registry } from 'prom-client'
import { expect, test, vi } from 'vitest'
import { serviceUnderTest } from '../service/service-under-test.ts'

const topic: Topic = { name: 'letters.sent.v1', partitions: 1, retention_ms: 1000 }
const record = { topic: topic.name, partition: 0, key: null, value: Buffer.from('a') }

test('a consumer writes nothing while the disk is full, can be closed meanwhile, and writes once there is space', async () => {
  const { service } = serviceUnderTest()
  const { logger, now, registry } = service
  const space: DiskSpace = { free_bytes: 0, size_bytes: 2 ** 40 }
  const readSpace = async () => ({ ...space })
  const disk = await openDiskWatch({ folders: { data: '/' }, free_bytes_min: 0, logger, registry, readSpace })
  const broker = memoryBroker(1, now)
  await broker.applyTopics([topic, deadLetterTopic(topic)])
  const written: string[] = []
  let begun = 0
  const consumer = gatedConsumer(
    defineConsumer<string>({
      ...{ name: 'letter-reader', topic, decode: ({ value }) => value.toString() },
      handle: async ({ records }) => void written.push(...records.map(({ value }) => value)),
    }),
    {
      ...disk,
      opened: (signal) => {
        begun += 1
        return disk.opened(signal)
      },
    },
  )
  const start = () => runConsumer({ broker, consumer, logger, registry: new Registry(), now })
  await broker.publish([record])
  const first = await start()
  await vi.waitFor(() => expect(begun).toBe(1), { timeout: 180_000 })
  await first.close()
  expect(written).toEqual([])

  const second = await start()
  await vi.waitFor(() => expect(begun).toBe(2), { timeout: 180_000 })
  space.free_bytes = 2 ** 39
  await disk.look()
  await vi.waitFor(() => expect(written).toEqual(['a']), { timeout: 180_000 })
  await second.close()
})
