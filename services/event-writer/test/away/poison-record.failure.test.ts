import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { deadLetterTopic, type Topic } from '@tributary/contracts/topics'
import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import type { OwnEngine } from '@tributary/testing/engines/engine'
import { openOwnEngine } from '@tributary/testing/engines/open-engine'
import kafkajs, { type Kafka } from 'kafkajs'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import {
  countsOf,
  envelopeOf,
  eventOf,
  exactly,
  groupOf,
  makeTopic,
  newAppId,
  openLog,
  openMigrated,
  patience,
  readAll,
  recordOf,
  startWriter,
  untilWritten,
} from '../writer-stage.ts'

await describeWithOwnEngine('kafka', (kafka) => {
  let engine: OwnEngine
  let clickhouse: Clickhouse
  let broker: Broker
  let topic: Topic
  let client: Kafka
  beforeAll(async () => {
    engine = await openOwnEngine('clickhouse')
    clickhouse = await openMigrated(engine.url)
    broker = await openLog(kafka.url)
    client = new kafkajs.Kafka({ brokers: [kafka.url], logLevel: kafkajs.logLevel.NOTHING })
  })
  afterAll(async () => {
    await broker.close()
    await clickhouse.close()
    await engine.stop()
  })

  const dead = () => readAll(broker, deadLetterTopic(topic).name)

  it('sets undecodable records apart, untouched and with the reason, and writes all others once', async () => {
    topic = await makeTopic(broker, 2)
    const app_id = newAppId()
    const poison = [
      Buffer.from('no JSON'),
      Buffer.from([0xff, 0x00, 0xfe]),
      Buffer.alloc(0),
      Buffer.from(JSON.stringify({ ...envelopeOf(app_id, 'later', [eventOf('1')]), v: 2 })),
      Buffer.from(
        JSON.stringify(envelopeOf(app_id, 'bad', [eventOf('1'), eventOf('2', { event_ts_ms: 'soon' }), eventOf('3')])),
      ),
    ]
    const records = poison.flatMap((value, n) => [
      recordOf(topic, 0, envelopeOf(app_id, `before-${n}`, [eventOf('1'), eventOf('2')])),
      { ...recordOf(topic, 0, value), headers: { trace: `${n}` } },
      recordOf(topic, 1, envelopeOf(app_id, `beside-${n}`, [eventOf('1')])),
    ])
    const published_ms = Date.now()
    await broker.publish(records)
    const writer = await startWriter({ broker, clickhouse, topic })
    await untilWritten(broker, topic)

    expect(await countsOf(clickhouse, app_id)).toEqual(exactly(15, 10))
    const letters = await dead()
    expect(letters.map(({ key, value, partition }) => ({ key, value, partition }))).toEqual(
      poison.map((value) => ({ key: 'key', value, partition: 0 })),
    )
    for (const [n, { headers }] of letters.entries()) {
      expect(headers).toEqual({
        trace: `${n}`,
        reason: 'undecodable',
        consumer: groupOf(topic),
        first_seen_ms: expect.stringMatching(/^\d{13}$/),
        attempts: '1',
        source_topic: topic.name,
        source_partition: '0',
        source_offset: `${n * 2 + 1}`,
      })
      expect(Math.abs(Number(headers.first_seen_ms) - published_ms)).toBeLessThan(60_000)
    }
    expect(await writer.count('dead', { reason: 'undecodable' })).toBe(poison.length)

    // Put back by an operator before the cause is mended: known by when it was first seen, and by its attempts.
    const [first] = letters
    await broker.publish([{ ...recordOf(topic, 1, first!.value), headers: first!.headers }])
    await untilWritten(broker, topic)
    const again = (await dead()).at(-1)!
    expect(again.value).toEqual(first!.value)
    expect(again.headers).toMatchObject({ attempts: '2', first_seen_ms: first!.headers.first_seen_ms })
    await writer.close()
  })

  it('sets a record apart whose row ClickHouse refuses, and writes all others once', async () => {
    topic = await makeTopic(broker, 1)
    const app_id = newAppId()
    // Table and code disagree, as they would after a migration by hand.
    await clickhouse.command("ALTER TABLE events_raw_v1 MODIFY COLUMN product_id Enum8('' = 0, 'gold' = 1)")
    const envelopes = Array.from({ length: 9 }, (_, n) =>
      envelopeOf(app_id, `i-${n}`, [eventOf('1'), eventOf('2', { product_id: n % 4 === 2 ? 'silver' : 'gold' })]),
    )
    await broker.publish(envelopes.map((envelope) => recordOf(topic, 0, envelope)))
    const writer = await startWriter({ broker, clickhouse, topic })
    await untilWritten(broker, topic)
    await writer.close()
    const letters = await dead()
    expect(letters.map(({ value }) => JSON.parse(value.toString()))).toEqual([envelopes[2], envelopes[6]])
    expect(letters.map(({ headers }) => [headers.reason, headers.source_offset])).toEqual([
      ['row_refused', '2'],
      ['row_refused', '6'],
    ])
    expect(await countsOf(clickhouse, app_id)).toEqual(exactly(14, 7))
    await clickhouse.command('ALTER TABLE events_raw_v1 MODIFY COLUMN product_id String')
  })

  it('waits while the dead-letter topic takes nothing, and then loses neither the letter nor what lies behind it', async () => {
    topic = await makeTopic(broker, 1)
    const app_id = newAppId()
    const admin = client.admin()
    const largest = (bytes: number) =>
      admin.alterConfigs({
        validateOnly: false,
        resources: [
          {
            type: kafkajs.ConfigResourceTypes.TOPIC,
            name: deadLetterTopic(topic).name,
            configEntries: [{ name: 'max.message.bytes', value: `${bytes}` }],
          },
        ],
      })
    await admin.connect()
    await largest(10)
    const good = (install: string) => recordOf(topic, 0, envelopeOf(app_id, install, [eventOf('1')]))
    await broker.publish([good('before'), recordOf(topic, 0, Buffer.from('no JSON')), good('behind')])
    const writer = await startWriter({ broker, clickhouse, topic, fetch: { bytes_max: 100 } })
    await vi.waitFor(
      async () => expect(await writer.count('failures', { step: 'dead letters' })).toBeGreaterThan(2),
      patience,
    )
    expect(await dead()).toEqual([])
    await largest(1_048_588)
    await untilWritten(broker, topic)
    expect((await dead()).map(({ value }) => value.toString())).toEqual(['no JSON'])
    expect(await countsOf(clickhouse, app_id)).toEqual(exactly(2, 2))
    await writer.close()
    await admin.disconnect()
  })

  it('is not held up by a record that is larger than any of ours, as another producer may have compressed it', async () => {
    topic = await makeTopic(broker, 1)
    const app_id = newAppId()
    const producer = client.producer()
    await producer.connect()
    const value = Buffer.alloc(3_000_000, 'a')
    await producer.send({
      topic: topic.name,
      compression: kafkajs.CompressionTypes.GZIP,
      messages: [{ partition: 0, key: 'large', value }],
    })
    await producer.disconnect()
    await broker.publish([recordOf(topic, 0, envelopeOf(app_id, 'behind', [eventOf('1')]))])
    const writer = await startWriter({ broker, clickhouse, topic })
    await untilWritten(broker, topic)
    await writer.close()
    expect(await countsOf(clickhouse, app_id)).toEqual(exactly(1, 1))
    const [letter] = await dead()
    expect(letter).toMatchObject({
      value: Buffer.alloc(0),
      headers: { reason: 'undecodable', source_offset: '0', too_large_bytes: '3000000' },
    })
  })
})
