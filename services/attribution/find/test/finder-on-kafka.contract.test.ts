import type { Broker } from '@tributary/broker/broker'
import { openKafkaBroker } from '@tributary/broker/kafka'
import type { Fact } from '@tributary/contracts/attribution/found'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import { memoryAttributionApps } from '@tributary/testing/twins/attribution-apps'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { installFinder } from '../src/install-finder.ts'
import { eventOf, forms, recordOf, topic } from './accepted-records.ts'

const app_id = 'app_1'
const partitions = 3
const soon = { timeout: 180_000, interval: 20 }
const fetch = { bytes_min: 1, wait_ms_max: 20 }

await describeWithOwnEngine('kafka', (kafka) => {
  let log: Broker
  beforeAll(async () => {
    log = await openKafkaBroker({
      ...{ brokers: [kafka.url], client_id: 'test', linger_ms: 2, send_bytes_max: 512 * 1024 },
      ...{ buffer_bytes_max: 32 * 1024 * 1024, logger: pino({ level: 'silent' }) },
    })
    const made = [topic, topics.installsFound].map((one) => ({ ...one, partitions }))
    await log.applyTopics([...made, ...made.map(deadLetterTopic)])
  })
  afterAll(() => log.close())

  it('finds the facts of records in every form, packed ones too, over a rebalance, and opens no others', async () => {
    const expected: string[] = []
    for (const [n, form] of forms.entries()) {
      const records = Array.from({ length: 30 }, (_, i) => {
        const install = `i-${n}-${i}`
        const names = i % 3 === 0 ? ['level_up', 'app_install', '_user_alias'] : ['level_up']
        for (const [index, name] of names.entries()) if (name !== 'level_up') expected.push(`${install}/${index}`)
        return recordOf(
          app_id,
          names.map((name) => eventOf(name, install, { user_id: 'u' })),
          form,
          partitions,
        )
      })
      await log.publish(records)
    }
    // The value is none that anybody could read.
    const closed = recordOf(app_id, [eventOf('level_up', 'i-closed')], 'gzip', partitions)
    await log.publish([{ ...closed, value: Buffer.from('no envelope') }])
    const registry = new Registry()
    const start = () =>
      runConsumer({
        ...{ broker: log, consumer: installFinder({ broker: log, apps: memoryAttributionApps([{ app_id }]) }) },
        ...{ logger: pino({ level: 'silent' }), registry, now: Date.now, fetch },
      })
    const finders = [await start(), await start()]
    const found = new Set<string>()
    const reading = await log.consume({
      ...{ group: 'reader', topic: topics.installsFound.name, bytes_max: 1024 * 1024, ...fetch },
      onChunk: async ({ records }) => {
        for (const { value } of records) {
          const { install_uuid, place } = JSON.parse(`${value}`) as Fact
          found.add(`${install_uuid}/${place.index}`)
        }
      },
    })
    await vi.waitFor(async () => {
      for (const { committed, end } of await log.groupOffsets('install-finder', topic.name))
        expect(committed ?? 0).toBe(end)
      expect(found.size).toBeGreaterThanOrEqual(expected.length)
    }, soon)
    await reading.close()
    for (const finder of finders) await finder.close()
    expect([...found].toSorted()).toEqual(expected.toSorted())
    const dropped = await registry.getSingleMetric('tributary_consumer_dropped_total')?.get()
    expect(dropped?.values).toEqual([])
  })
})
