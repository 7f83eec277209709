import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Broker } from '@tributary/broker/broker'
import { valueBytes } from '@tributary/broker/gzip/packed-value'
import { openKafkaBroker } from '@tributary/broker/kafka'
import { limits } from '@tributary/contracts/limits'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { eventWriter } from '@tributary/event-writer/event-writer'
import { type RunningConsumer, runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { openGatewayOver, patience } from '../gateway-over.ts'

type Event = Record<string, unknown> & { event_id: string }
const gzip = { 'content-encoding': 'gzip' }
const kibibytes = (n: number) => n * 1024

/** An object of exactly so many bytes as JSON. */
const objectOf = (bytes: number, character = 'x') => ({ a: character.repeat(bytes - '{"a":""}'.length) })

const eventOf = (install_uuid: string, more: Record<string, unknown> = {}): Event => ({
  event_id: randomUUID(),
  event_name: 'level_up',
  install_uuid,
  event_ts_ms: Date.now(),
  ...more,
})

/** All that one event may carry. */
const largestEvent = (install_uuid: string): Event =>
  eventOf(install_uuid, {
    event_id: randomBytes(64).toString('hex'),
    event_name: '\u20ac'.repeat(limits.event_name_chars_max),
    user_id: '\u20ac'.repeat(limits.optional_string_chars_max),
    transaction_id: '\u20ac'.repeat(limits.optional_string_chars_max),
    product_id: '\u20ac'.repeat(limits.optional_string_chars_max),
    props: objectOf(limits.object_json_bytes_max),
    device: objectOf(limits.object_json_bytes_max, 'y'),
    more: 'z'.repeat(limits.extra_json_bytes_max - '{"more":""}'.length),
  })

const batchOf = (events: readonly Event[]) => JSON.stringify({ events, sent_at_ms: Date.now() })
/** White space is part of the body, so any size can be had. */
const padded = (body: string, bytes: number) => body.padEnd(bytes - Buffer.byteLength(body) + body.length, ' ')

await describeWithOwnEngine('kafka', (kafka) => {
  const { eventsAccepted: topic } = topics
  let clickhouse: TestClickhouse
  let broker: Broker
  let running: RunningConsumer
  let gateway: Awaited<ReturnType<typeof openGatewayOver>>
  let largest_bytes = 0
  beforeAll(async () => {
    const logger = pino({ level: 'silent' })
    clickhouse = await openTestClickhouse()
    broker = await openKafkaBroker({
      brokers: [kafka.url],
      client_id: 'test',
      linger_ms: 5,
      send_bytes_max: limits.log_record_bytes_max,
      buffer_bytes_max: 64 * 1024 * 1024,
      logger,
    })
    await broker.applyTopics([topic, deadLetterTopic(topic)])
    const measured: Broker = {
      ...broker,
      publish(records) {
        largest_bytes = Math.max(largest_bytes, ...records.map(({ value }) => valueBytes(value)))
        return broker.publish(records)
      },
    }
    gateway = await openGatewayOver({ broker: measured, partitions: topic.partitions })
    const consumer = eventWriter({ clickhouse, logger })
    running = await runConsumer({ broker, consumer, logger, registry: new Registry(), now: Date.now })
  })
  afterAll(async () => {
    await running.close()
    await gateway.close()
    await broker.close()
    await clickhouse.close()
  })

  const ends = async (name: string) =>
    (await broker.groupOffsets('event-writer', name)).map(({ end }) => end).reduce((sum, end) => sum + end, 0)

  /** Every event is in the table once, with the very content that was sent, and nothing else of the install is. */
  async function expectStored(install_uuid: string, events: readonly Event[]) {
    const digest = (...texts: string[]) => createHash('sha256').update(texts.join('')).digest('hex')
    const sent = events.map(({ event_id, event_name, props = {}, device = {}, more }) => {
      const extra = more === undefined ? {} : { more }
      return `${event_id} ${digest(String(event_name), JSON.stringify(props), JSON.stringify(device), JSON.stringify(extra))}`
    })
    const stored = () =>
      clickhouse.query<{ line: string }>(
        `SELECT concat(event_id, ' ', lower(hex(SHA256(concat(event_name, props, device, extra))))) AS line
         FROM events_raw_v1 WHERE install_uuid = {install_uuid:String}`,
        { install_uuid },
      )
    await vi.waitFor(async () => expect(await stored()).toHaveLength(sent.length), patience)
    expect((await stored()).map(({ line }) => line).toSorted()).toEqual(sent.toSorted())
  }

  it('takes the largest batch of 500 events of one install, and each of them comes out of ClickHouse unchanged', async () => {
    const install = randomUUID()
    const events = Array.from({ length: limits.sdk_batch_events_max }, () =>
      eventOf(install, { props: objectOf(kibibytes(8)), device: objectOf(kibibytes(8)) }),
    )
    const body = padded(batchOf(events), limits.sdk_inflated_bytes_max)
    expect(Buffer.byteLength(body)).toBe(limits.sdk_inflated_bytes_max)
    const answer = await gateway.event(gzipSync(body), gzip)
    expect([answer.status, answer.body.accepted, answer.body.rejected]).toEqual([200, 500, 0])
    await expectStored(install, events)

    const before = await ends(topic.name)
    const over = await gateway.event(gzipSync(`${body} `), gzip)
    expect([over.status, over.body.error]).toEqual([413, 'decompressed_too_large'])
    const many = await gateway.event(gzipSync(batchOf([...events, eventOf(install)])), gzip)
    expect([many.status, many.body.error]).toEqual([400, 'bad_batch_shape'])
    const wire = await gateway.event(padded(batchOf([eventOf(install)]), limits.sdk_body_bytes_max + 1))
    expect([wire.status, wire.body.error]).toEqual([413, 'body_too_large'])
    expect(await ends(topic.name)).toBe(before)
  })

  it('takes the largest events, alone and as many as fit into a batch, and rejects only those that are larger', async () => {
    const install = randomUUID()
    const events = Array.from({ length: 70 }, () => largestEvent(install))
    const answer = await gateway.event(gzipSync(batchOf(events)), gzip)
    expect([answer.status, answer.body.accepted]).toEqual([200, events.length])
    const alone = largestEvent(install)
    expect((await gateway.single(alone)).status).toBe(200)

    const tooLarge = [
      eventOf(install, { props: objectOf(limits.object_json_bytes_max + 1) }),
      eventOf(install, { device: objectOf(limits.object_json_bytes_max + 1) }),
      eventOf(install, { more: 'z'.repeat(limits.extra_json_bytes_max) }),
    ]
    const good = [eventOf(install), eventOf(install)]
    const mixed = await gateway.event(batchOf([good[0]!, ...tooLarge, good[1]!]))
    expect(mixed.body.results.map((result: Record<string, string>) => result.field ?? result.status)).toEqual([
      'accepted',
      'props',
      'device',
      'more',
      'accepted',
    ])
    for (const event of tooLarge) {
      const refused = await gateway.single(event)
      expect([refused.status, refused.body.error]).toEqual([400, 'invalid_field'])
    }
    await expectStored(install, [...events, alone, ...good])
  })

  it('takes the largest bulk request that does not compress, and refuses one event or one byte more', async () => {
    const install = randomUUID()
    const events = Array.from({ length: limits.bulk_events_max }, () =>
      eventOf(install, {
        props: { a: randomBytes(4000).toString('base64') },
        device: { b: randomBytes(1900).toString('base64') },
      }),
    )
    const body = padded(JSON.stringify({ events }), limits.bulk_body_bytes_max)
    expect(Buffer.byteLength(body)).toBe(limits.bulk_body_bytes_max)
    const answer = await gateway.bulk(body)
    expect([answer.status, answer.body.accepted, answer.body.rejected]).toEqual([200, 1000, 0])
    await expectStored(install, events)

    const before = await ends(topic.name)
    const over = await gateway.bulk(`${body} `)
    expect([over.status, over.body.error]).toEqual([413, 'body_too_large'])
    const small = Array.from({ length: limits.bulk_events_max + 1 }, () => eventOf(install))
    const many = await gateway.bulk(JSON.stringify({ events: small }))
    expect([many.status, many.body.error]).toEqual([400, 'too_many_events'])
    expect(await ends(topic.name)).toBe(before)
  })

  it('never makes a record above the limit, whatever the headers of the request', async () => {
    const install = randomUUID()
    const events = Array.from({ length: 60 }, () => largestEvent(install))
    const long = '"\\'.repeat(2000)
    const headers = { ...gzip, 'user-agent': long, 'x-service-sdk': long, 'x-service-platform': long }
    expect((await gateway.event(gzipSync(batchOf(events)), headers)).status).toBe(200)
    await expectStored(install, events)
    expect(await ends(deadLetterTopic(topic).name)).toBe(0)
    expect(largest_bytes).toBeLessThanOrEqual(limits.record_bytes_max)
    expect(largest_bytes).toBeGreaterThan(limits.record_bytes_max * 0.8)
  })
})
