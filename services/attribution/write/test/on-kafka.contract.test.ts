import { randomUUID } from 'node:crypto'
import { openKafkaBroker } from '@tributary/broker/kafka'
import { installPartition } from '@tributary/broker/partition'
import { deadLetterTopic, type Topic } from '@tributary/contracts/topics'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { installWriter } from '../src/install-writer.ts'
import { decisionOf, verdictOf } from './decisions.ts'
import { countingOf, derivedTables, newAppId, recordOf, wrongSums } from './stage.ts'

const logger = pino({ level: 'silent' })
const patience = { timeout: 180_000, interval: 100 }
const installs = 30
const rounds = 5

await describeWithEngine('kafka', ({ url }) => {
  let clickhouse: TestClickhouse
  beforeAll(async () => {
    clickhouse = await openTestClickhouse()
  })
  afterAll(() => clickhouse.close())

  const openLog = () => {
    const limits = { linger_ms: 2, send_bytes_max: 1_000_000, buffer_bytes_max: 64 * 1024 * 1024 }
    return openKafkaBroker({ brokers: [url], client_id: 'test', ...limits, logger })
  }

  it('each install has its newest verdict once while writers die and others take their partitions over', async () => {
    const app_id = newAppId()
    const topic: Topic = { name: `tests.run.${randomUUID()}`, partitions: 3, retention_ms: 3_600_000 }
    const name = `group-of-${topic.name}`
    const log = await openLog()
    await log.applyTopics([topic, deadLetterTopic(topic)])

    /** A process with a connection of its own, which dies after so many steps of the kit. */
    async function startWriter(steps: number) {
      let left = steps
      const crash = () => {
        if (left-- <= 0) throw new Error('killed')
      }
      const broker = await openLog()
      const consumer = { ...installWriter({ clickhouse, now: Date.now }), topic, name }
      const fetch = { bytes_min: 1, bytes_max: 4096, wait_ms_max: 20 }
      const common = { logger, registry: new Registry(), now: Date.now, pauses: { first_ms: 10, most_ms: 50 } }
      const running = await runConsumer({ broker, consumer, fetch, crash, ...common })
      return async () => {
        await running.close()
        await broker.close()
      }
    }
    for (let round = 0; round < rounds; round += 1) {
      const close = await Promise.all([startWriter(7), startWriter(11)])
      const decisions = Array.from({ length: installs }, (_, n) =>
        decisionOf(app_id, `i-${n}`, { offset: round, verdict: verdictOf(['p', 'q', 'organic'][(n + round) % 3]!) }),
      )
      await log.publish(
        decisions.map((one) => ({
          ...recordOf(one, installPartition(app_id, one.install_uuid, topic.partitions)),
          topic: topic.name,
        })),
      )
      await Promise.all(close.map((one) => one()))
      expect(await wrongSums(clickhouse, app_id)).toEqual([])
    }
    const close = await startWriter(Number.POSITIVE_INFINITY)
    await vi.waitFor(async () => {
      const offsets = await log.groupOffsets(name, topic.name)
      expect(offsets.filter(({ committed, end }) => (committed ?? 0) < end)).toEqual([])
    }, patience)
    await close()
    await log.close()
    const found = await countingOf(clickhouse, app_id)
    const partners = Object.fromEntries(found.map(({ install_uuid, partner }) => [install_uuid, partner]))
    const wanted = Array.from({ length: installs }, (_, n) => [`i-${n}`, ['p', 'q', 'organic'][(n + rounds - 1) % 3]])
    expect(partners).toEqual(Object.fromEntries(wanted))
    expect(found.every(({ signs }) => signs === 1)).toBe(true)
    const { held, recounted } = await derivedTables(clickhouse, app_id)
    expect(held).toEqual(recounted)
  })
})
