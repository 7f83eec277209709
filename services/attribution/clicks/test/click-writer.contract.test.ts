import { randomUUID } from 'node:crypto'
import type { Broker } from '@tributary/broker/broker'
import { openKafkaBroker } from '@tributary/broker/kafka'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { readClickArchives } from '@tributary/tables/attribution/click-archive'
import { clickRecord } from '@tributary/tables/attribution/records'
import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { memoryAttributionApps } from '@tributary/testing/twins/attribution-apps'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryRedecisions } from '@tributary/testing/twins/memory-redecisions'
import { noLateDays } from '@tributary/testing/twins/no-late-days'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { clickWriter } from '../src/click-writer.ts'
import { clickOf, installOf, newAppId, noon, storeFacts } from './stage.ts'

const logger = pino({ level: 'silent' })
const patience = { timeout: 180_000, interval: 50 }
const fetch = { bytes_min: 1, bytes_max: 64 * 1024, wait_ms_max: 50 }

await describeWithEngine('kafka', (kafka) => {
  let clickhouse: TestClickhouse
  let broker: Broker
  beforeAll(async () => {
    clickhouse = await openTestClickhouse()
    broker = await openKafkaBroker({
      brokers: [kafka.url],
      ...{ client_id: 'test', linger_ms: 2, send_bytes_max: 1_000_000, buffer_bytes_max: 64 * 1024 * 1024, logger },
    })
  })
  afterAll(async () => {
    await broker.close()
    await clickhouse.close()
  })

  it('writes each click once and archives all of them, and has installs decided again before it commits, when writers die after any step', async () => {
    const app_id = newAppId()
    const topic = { ...topics.clicksRecorded, name: `tests.${randomUUID()}`, partitions: 2 }
    await broker.applyTopics([topic, deadLetterTopic(topic)])
    const clicks = Array.from({ length: 200 }, (_, n) =>
      clickOf({ app_id, clicked_at_ms: noon + n, ip: `10.0.0.${n}` }),
    )
    const waiting = clicks
      .slice(0, 20)
      .map(({ click_id }) => installOf({ app_id, named_click: { click_id, signature: 'valid' } }))
    await storeFacts(clickhouse, waiting)
    await broker.publish(clicks.map((click) => ({ ...clickRecord(click, 2), topic: topic.name })))

    const audit = memoryAuditStore()
    const redecisions = memoryRedecisions()
    const deps = {
      clickhouse,
      redecisions,
      audit,
      attributionApps: memoryAttributionApps([{ app_id }]),
      late: noLateDays,
      logger,
      now: Date.now,
    }
    const name = `group-of-${topic.name}`
    const isDone = async () =>
      (await broker.groupOffsets(name, topic.name)).every(({ committed, end }) => (committed ?? 0) === end)
    for (const step of [1, 2, 3, null]) {
      const died = Promise.withResolvers<void>()
      const crash = (at: number) => {
        if (at !== step) return
        died.resolve()
        throw new Error('killed')
      }
      const consumer = { ...clickWriter({ ...deps, crash }), topic, name }
      const options = { broker, consumer, logger, registry: new Registry(), now: Date.now, fetch }
      const running = await runConsumer({ ...options, pauses: { first_ms: 50, most_ms: 500 } })
      if (step === null) await vi.waitFor(async () => expect(await isDone()).toBe(true), patience)
      else await died.promise
      await running.close()
    }

    const rows = await clickhouse.query<{ click_id: string }>(
      'SELECT click_id FROM clicks_raw_v1 FINAL WHERE app_id = {app_id:String} ORDER BY click_id',
      { app_id },
    )
    const ids = clicks.map(({ click_id }) => click_id).toSorted()
    expect(rows.map(({ click_id }) => click_id)).toEqual(ids)
    const archives = await Array.fromAsync(readClickArchives(audit))
    const archived = archives.flatMap((archive) => archive.clicks!.map(({ click_id }) => click_id))
    // A producer that got no answer publishes again, so the log may hold a click twice. An archive holds what the log held.
    expect([...new Set(archived)].toSorted()).toEqual(ids)
    expect(redecisions.names()).toEqual(waiting.map(({ install_uuid }) => `${app_id}/${install_uuid}`).toSorted())
  })
})
