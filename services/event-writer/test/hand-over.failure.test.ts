import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Broker } from '@tributary/broker/broker'
import { installPartition } from '@tributary/broker/partition'
import { deadLetterTopic, type Topic } from '@tributary/contracts/topics'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventWriter } from '../src/event-writer.ts'
import { countsOf, envelopeOf, eventOf, exactly, groupOf, newAppId, openLog, recordOf } from './writer-stage.ts'

const logger = pino({ level: 'silent' })
const cli = join(import.meta.dirname, '..', '..', '..', 'packages', 'cli', 'src', 'main.ts')
const run = promisify(execFile)
const installs = 20
const events = 10

await describeWithOwnEngine('kafka', (kafka) => {
  let clickhouse: TestClickhouse
  let log: Broker
  beforeAll(async () => {
    clickhouse = await openTestClickhouse()
    log = await openLog(kafka.url)
  })
  afterAll(async () => {
    await log.close()
    await clickhouse.close()
  })

  it('moves a topic to one with more partitions while both are written and writers die: each event counts once', async () => {
    const app_id = newAppId()
    const topicOf = (partitions: number): Topic => ({
      name: `tests.${randomUUID()}`,
      partitions,
      retention_ms: 3_600_000,
    })
    const [from, to] = [topicOf(2), topicOf(5)]
    await log.applyTopics([from, to].flatMap((topic) => [topic, deadLetterTopic(topic)]))
    const before = { name: groupOf(from), topic: from, after: null }
    const groups = [before, { name: groupOf(to), topic: to, after: before }]

    /** A process with a connection of its own, which dies after so many steps. */
    async function startProcess(steps: number) {
      let left = steps
      const live = () => {
        if (left-- <= 0) throw new Error('killed')
      }
      const own = await openLog(kafka.url)
      const running = await Promise.all(
        groups.map((group) =>
          runConsumer({
            ...{
              broker: own,
              consumer: { ...eventWriter({ clickhouse }), ...group },
              logger,
              crash: live,
            },
            ...{ registry: new Registry(), now: Date.now, pauses: { first_ms: 5, most_ms: 20 } },
            fetch: { bytes_min: 1, bytes_max: 20_000, wait_ms_max: 20 },
          }),
        ),
      )
      return {
        isDead: () => left <= 0,
        async close() {
          await Promise.all(running.map((one) => one.close()))
          await own.close()
        },
      }
    }
    const publish = (event_id: number) =>
      log.publish(
        [from, to].flatMap((topic) =>
          Array.from({ length: installs }, (_, n) => {
            const partition = installPartition(app_id, `i-${n}`, topic.partitions)
            return recordOf(topic, partition, envelopeOf(app_id, `i-${n}`, [eventOf(`${event_id}`)]))
          }),
        ),
      )
    const lag = async () => {
      const offsets = await Promise.all(groups.map(({ name, topic }) => log.groupOffsets(name, topic.name)))
      return offsets.flat().reduce((sum, { committed, end }) => sum + end - (committed ?? 0), 0)
    }
    const until = async (condition: () => boolean | Promise<boolean>) => {
      for (const deadline = Date.now() + 180_000; !(await condition()); await pause(20)) {
        if (Date.now() > deadline) throw new Error(`not in time: ${condition}`)
      }
    }

    let mortal = await startProcess(15)
    const other = await startProcess(Number.POSITIVE_INFINITY)
    for (let event_id = 0; event_id < events; event_id += 1) {
      await publish(event_id)
      if (event_id === 3) {
        const words = ['topics', 'hand-over', '--from', from.name, '--to', to.name, '--json']
        const env = { PATH: process.env.PATH, TRIBUTARY_KAFKA_BROKERS: kafka.url }
        const { stdout } = await run(process.execPath, [cli, ...words], { env })
        expect(JSON.parse(stdout)).toEqual({ from: from.name, to: to.name, partitions: 2 })
      }
      if (mortal.isDead()) {
        await mortal.close()
        mortal = await startProcess(15)
      }
    }
    await mortal.close()
    await until(async () => (await lag()) === 0)
    await other.close()
    expect(await countsOf(clickhouse, app_id)).toEqual(exactly(installs * events, installs))
  })
})
