import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Broker } from '@tributary/broker/broker'
import { openEmbeddedBroker } from '@tributary/broker/embedded'
import type { Envelope } from '@tributary/contracts/envelope'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import pino from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventWriter } from '../src/event-writer.ts'

const topic = topics.eventsAccepted
const app_id = `app_${randomBytes(10).toString('hex')}`

let clickhouse: TestClickhouse
let dir: string
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
  dir = await mkdtemp(join(tmpdir(), 'tributary-writer-'))
})
afterAll(async () => {
  await clickhouse.close()
  await rm(dir, { recursive: true, force: true })
})

async function openLog(): Promise<Broker> {
  const broker = await openEmbeddedBroker({ dir, now: Date.now, partitions: 1 })
  await broker.applyTopics([topic, deadLetterTopic(topic)])
  return broker
}

const recordOf = (n: number) => {
  const event = {
    event_id: `${n}`,
    event_name: 'level_up',
    event_ts_ms: Date.UTC(2026, 0, 2),
    props: { text: 'x'.repeat(500) },
  }
  const envelope: Envelope = {
    v: 1,
    company_id: 'co_1',
    app_id,
    platform: 'ios',
    source: 'sdk',
    install_uuid: 'i',
    received_at_ms: Date.UTC(2026, 0, 2),
    ip: '',
    user_agent: '',
    sdk: '',
    sdk_platform: '',
    audit_key: '',
    events: [event],
  }
  return { topic: topic.name, partition: 0, key: null, value: Buffer.from(JSON.stringify(envelope)) }
}

/** Runs the writer on a freshly opened log until `enough`. */
async function live(bytes_max: number, enough: (broker: Broker) => Promise<boolean>, crash?: (step: number) => void) {
  const broker = await openLog()
  const tokens: string[] = []
  const counting: typeof clickhouse = {
    ...clickhouse,
    async insert(block) {
      tokens.push(block.token)
      await clickhouse.insert(block)
    },
  }
  const running = await runConsumer({
    broker,
    consumer: eventWriter({ clickhouse: counting }),
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    now: Date.now,
    fetch: { bytes_min: 1, bytes_max, wait_ms_max: 10 },
    crash,
  })
  const deadline = Date.now() + 180_000
  while (!(await enough(broker))) {
    if (Date.now() > deadline) throw new Error('not in time')
    await pause(5)
  }
  await running.close()
  await broker.close()
  return tokens
}

const allWritten = async (broker: Broker) => {
  const [offsets] = await broker.groupOffsets('event-writer', topic.name)
  return offsets?.committed === offsets?.end
}

test('a batch that was broken off is finished as the same batch, by fetches that are smaller than it', async () => {
  const filling = await openLog()
  await filling.publish(Array.from({ length: 60 }, (_, n) => recordOf(n % 40)))
  await filling.close()
  let crashed = false
  const first = await live(
    1024 * 1024,
    async () => crashed,
    (step) => {
      if (step < 4) return
      crashed = true
      throw new Error('crash before the commit')
    },
  )
  expect(first).toHaveLength(1)
  expect(await live(4096, allWritten), 'nothing was missing').toEqual([])
  const [row] = await clickhouse.query<{ stored: number; keys: number; counted: number }>(`
    SELECT toUInt32((SELECT count() FROM events_raw_v1)) AS stored,
      toUInt32((SELECT count() FROM event_keys_v1)) AS keys,
      toUInt32((SELECT sum(events) FROM events_per_day_v1 WHERE app_id = '${app_id}')) AS counted`)
  expect(row).toEqual({ stored: 40, keys: 40, counted: 40 })
})
