import type { Broker, Chunk } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Topic } from '@tributary/contracts/topics'
import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import type { OwnEngine } from '@tributary/testing/engines/engine'
import { openOwnEngine } from '@tributary/testing/engines/open-engine'
import kafkajs, { type Admin } from 'kafkajs'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import {
  countsOf,
  envelopeOf,
  eventOf,
  exactly,
  makeTopic,
  newAppId,
  openLog,
  openMigrated,
  patience,
  recordOf,
  startWriter,
  untilWritten,
} from '../writer-stage.ts'

const installs = 40
const events_each = 5

await describeWithOwnEngine('kafka', (kafka) => {
  let engine: OwnEngine
  let clickhouse: Clickhouse
  let broker: Broker
  let admin: Admin
  let probe: Awaited<ReturnType<typeof openProbe>>
  let topic: Topic
  let app_id: string
  beforeAll(async () => {
    engine = await openOwnEngine('clickhouse')
    clickhouse = await openMigrated(engine.url)
    broker = await openLog(kafka.url)
    admin = new kafkajs.Kafka({ brokers: [kafka.url], logLevel: kafkajs.logLevel.NOTHING }).admin()
    await admin.connect()
    probe = await openProbe(broker)
  })
  afterAll(async () => {
    await probe.close()
    await admin.disconnect()
    await broker.close()
    await clickhouse.close()
    await engine.stop()
  })
  beforeEach(async () => {
    topic = await makeTopic(broker, 2)
    app_id = newAppId()
  })
  afterEach(() => refuseCommits(false))

  /** Each event twice, in records of their own, so that a second delivery has something to double. */
  const publish = (from = 0, to = installs) =>
    broker.publish(
      Array.from({ length: (to - from) * 2 }, (_, n) => {
        const install = from + (n >> 1)
        const events = Array.from({ length: events_each }, (_, id) => eventOf(`${id}`))
        return recordOf(topic, install % 2, envelopeOf(app_id, `i-${install}`, events))
      }),
    )
  const expectExactly = async (count: number) =>
    expect(await countsOf(clickhouse, app_id)).toEqual(exactly(count * events_each, count))

  /** Kafka refuses every commit while its own topic of commits takes no message that large; all else goes on. */
  async function refuseCommits(refused: boolean) {
    await admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: kafkajs.ConfigResourceTypes.TOPIC,
          name: '__consumer_offsets',
          configEntries: [{ name: 'max.message.bytes', value: refused ? '1' : '1048588' }],
        },
      ],
    })
    // A setting takes effect some time after Kafka has taken it.
    await vi.waitFor(async () => expect(await probe.isRefused()).toBe(refused), patience)
  }

  it.each([
    { step: 'intent', after: 1 },
    { step: 'commit', after: 4 },
  ] as const)('writes each event once though Kafka refuses the $step for a while', async ({ step, after }) => {
    await publish(0, 10)
    let refusing: Promise<void> | null = null
    const crash = async (done: number) => {
      if (done !== after) return
      refusing ??= refuseCommits(true)
      await refusing
    }
    const writer = await startWriter({ broker, clickhouse, topic, crash, fetch: { bytes_max: 4096 } })
    await vi.waitFor(async () => expect(await writer.count('failures', { step })).toBeGreaterThan(0), patience)
    await publish(10, installs)
    await refuseCommits(false)
    await untilWritten(broker, topic)
    await expectExactly(installs)
    await writer.close()
  })

  it('writes each event once though Kafka falls silent before a commit', async () => {
    await publish()
    let silent = false
    const silenced = Promise.withResolvers<void>()
    const crash = async (done: number) => {
      if (done !== 4 || silent) return
      silent = true
      await kafka.pause()
      silenced.resolve()
    }
    const writer = await startWriter({ broker, clickhouse, topic, crash, fetch: { bytes_max: 4096 } })
    await silenced.promise
    // Three seconds each: the commit under way has been given up by then and is being tried again.
    for (const _ of [1, 2]) await expect(broker.checkHealth()).rejects.toThrow()
    kafka.resume()
    await untilWritten(broker, topic)
    await expectExactly(installs)
    await writer.close()
  })

  it('writes each event once though commits that took effect are reported as failed, and others never arrive', async () => {
    const seen = new Map<string, number>()
    /** The first two tries of each commit fail: one that Kafka never saw, one that it carried out. */
    const doubtful = (chunk: Chunk): Chunk => ({
      ...chunk,
      async commit(offset, metadata = '') {
        const key = `${chunk.partition}/${offset}/${metadata}`
        const count = (seen.get(key) ?? 0) + 1
        seen.set(key, count)
        if (count === 1) throw new Error('never sent')
        await chunk.commit(offset, metadata)
        if (count === 2) throw new Error('no answer')
      },
    })
    const wrapped: Broker = {
      ...broker,
      consume: (options) => broker.consume({ ...options, onChunk: (chunk) => options.onChunk(doubtful(chunk)) }),
    }
    await publish()
    const writer = await startWriter({ broker: wrapped, clickhouse, topic, fetch: { bytes_max: 4096 } })
    await untilWritten(broker, topic)
    await expectExactly(installs)
    expect(await writer.count('failures', { step: 'intent' })).toBeGreaterThan(4)
    expect(await writer.count('failures', { step: 'commit' })).toBeGreaterThan(4)
    await writer.close()
  })

  it('leaves a batch whose last commit is refused to the next start, which writes it once', async () => {
    await publish()
    let refusing: Promise<void> | null = null
    const crash = async (done: number) => {
      if (done !== 4) return
      refusing ??= refuseCommits(true)
      await refusing
    }
    const first = await startWriter({ broker, clickhouse, topic, crash })
    await vi.waitFor(async () => expect(await first.count('failures', { step: 'commit' })).toBeGreaterThan(0), patience)
    const closing = first.close()
    await refuseCommits(false)
    await closing
    const second = await startWriter({ broker, clickhouse, topic, fetch: { bytes_max: 1024 } })
    await untilWritten(broker, topic)
    await expectExactly(installs)
    await second.close()
  })
})

/** A group of its own that does nothing but tell whether Kafka takes commits. */
async function openProbe(broker: Broker) {
  const topic = await makeTopic(broker, 1)
  await broker.publish([recordOf(topic, 0, Buffer.from('held'))])
  let held: Chunk | null = null
  const timer = setInterval(() => void held?.heartbeat().catch(() => {}), 1000)
  const consumption = await broker.consume({
    group: `probe-of-${topic.name}`,
    topic: topic.name,
    bytes_min: 1,
    bytes_max: 1024,
    wait_ms_max: 50,
    async onChunk(chunk) {
      held = chunk
      await new Promise((resolve) => chunk.signal.addEventListener('abort', resolve))
      held = null
    },
  })
  // Before anything is refused: Kafka writes members of groups into the same topic.
  await vi.waitFor(() => expect(held).not.toBeNull(), patience)
  return {
    /** Null while there is nothing to commit. */
    isRefused: async () =>
      held?.commit(0).then(
        () => false,
        () => true,
      ) ?? null,
    async close() {
      clearInterval(timer)
      await consumption.close()
    },
  }
}
