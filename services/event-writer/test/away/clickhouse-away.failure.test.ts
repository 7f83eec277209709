import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Topic } from '@tributary/contracts/topics'
import { createHealth } from '@tributary/service-kit/service/health'
import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import type { OwnEngine } from '@tributary/testing/engines/engine'
import { type FaultyProxy, openFaultyProxy } from '@tributary/testing/engines/faulty-proxy'
import { openOwnEngine } from '@tributary/testing/engines/open-engine'
import { Registry } from 'prom-client'
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
  openServer,
  patience,
  recordOf,
  startWriter,
  untilWritten,
} from '../writer-stage.ts'

const query_timeout_ms = 1000
const partitions = 2

await describeWithOwnEngine('kafka', (kafka) => {
  let engine: OwnEngine
  let proxy: FaultyProxy
  /** What the test asks, past the proxy. */
  let direct: Clickhouse
  /** What the writer has. */
  let clickhouse: Clickhouse
  let broker: Broker
  let topic: Topic
  let app_id: string
  let generations: Set<string>
  let writer: Awaited<ReturnType<typeof startWriter>>
  let sent: number
  beforeAll(async () => {
    engine = await openOwnEngine('clickhouse')
    direct = await openMigrated(engine.url)
    proxy = await openFaultyProxy(engine.url, { late_ms: query_timeout_ms * 2 })
    broker = await openLog(kafka.url)
  })
  afterAll(async () => {
    await broker.close()
    await proxy.close()
    await direct.close()
    await engine.stop()
  })
  beforeEach(async () => {
    topic = await makeTopic(broker, partitions)
    app_id = newAppId()
    sent = 0
    generations = new Set()
    proxy.met = { pass: 0, error: 0, hang: 0, lose_answer: 0, late: 0 }
    clickhouse = await openServer(proxy.url, { query_timeout_ms })
    const watched: Broker = {
      ...broker,
      consume: (options) =>
        broker.consume({
          ...options,
          onChunk(chunk) {
            generations.add(`${chunk.partition}/${chunk.generation}`)
            return options.onChunk(chunk)
          },
        }),
    }
    writer = await startWriter({ broker: watched, clickhouse, topic })
  })
  afterEach(async () => {
    proxy.mode = 'pass'
    await writer.close()
    await clickhouse.close()
  })

  /** Records of one install each, of two events, into every partition. */
  const publish = (count: number, more: Record<string, unknown> = {}) =>
    broker.publish(
      Array.from({ length: count }, () => {
        const install = sent++
        const events = ['1', '2'].map((id) => eventOf(id, more))
        return recordOf(topic, install % partitions, envelopeOf(app_id, `i-${install}`, events))
      }),
    )
  const expectExactly = async () => expect(await countsOf(direct, app_id)).toEqual(exactly(sent * 2, sent))
  const failures = () => writer.count('failures', { step: 'handle' })
  const moreFailures = async (count: number) => {
    const before = await failures()
    await vi.waitFor(async () => expect(await failures()).toBeGreaterThanOrEqual(before + count), patience)
  }
  const analytics = async () => {
    const checks = { analytics: () => clickhouse.checkHealth() }
    const { analytics } = await createHealth({ checks, now: Date.now, registry: new Registry() }).bindings()
    return analytics!.status
  }

  it('keeps its partitions while ClickHouse is dead for longer than a session lasts, and goes on alone', async () => {
    await publish(20)
    await untilWritten(broker, topic)
    const dead_since = performance.now()
    await engine.kill()
    await publish(20)
    await vi.waitFor(async () => expect(await failures()).toBeGreaterThan(2), patience)
    expect(await analytics()).toBe('down')
    // Kafka gives the partitions of a member that it has not heard of for 6 s to others (`kafkaTimeouts.session_ms`).
    await vi.waitFor(() => expect(performance.now() - dead_since).toBeGreaterThan(7500), patience)
    await publish(20)
    await engine.restart()
    await untilWritten(broker, topic)
    await expectExactly()
    expect(await analytics()).toBe('ok')
    expect(generations.size).toBe(partitions)
  })

  it('waits while ClickHouse answers errors, or hangs, and writes each event once', async () => {
    for (const mode of ['error', 'hang'] as const) {
      proxy.mode = mode
      await publish(10)
      await moreFailures(partitions)
      expect(await analytics()).toBe('down')
      proxy.mode = 'pass'
      await untilWritten(broker, topic)
    }
    await engine.pause()
    await publish(10)
    await moreFailures(partitions)
    engine.resume()
    await untilWritten(broker, topic)
    await expectExactly()
    expect(generations.size).toBe(partitions)
  })

  it('writes each event once though the answers to inserts that were carried out get lost or come too late', async () => {
    proxy.concerns = ({ url = '' }) =>
      decodeURIComponent(url).replaceAll('+', ' ').includes('INSERT INTO events_raw_v1')
    for (const mode of ['lose_answer', 'late'] as const) {
      proxy.mode = mode
      await publish(10)
      // Without another insert: the writer finds what the first one left.
      await vi.waitFor(() => expect(proxy.met[mode]).toBeGreaterThan(0), patience)
      await untilWritten(broker, topic)
      proxy.mode = 'pass'
    }
    proxy.concerns = () => true
    await expectExactly()
  })

  it('holds no more than a batch of each partition in memory, however long the backlog is and well it compresses', async () => {
    await writer.close()
    await clickhouse.close()
    clickhouse = await openServer(proxy.url) // large inserts take their time
    for (let round = 0; round < 16; round += 1) await publish(20, { props: { text: 'x'.repeat(240_000) } })
    proxy.mode = 'error'
    const before = heldBytes()
    const fetch = { bytes_max: 16 * 1024 * 1024 }
    writer = await startWriter({ broker, clickhouse, topic, fetch })
    await moreFailures(partitions * 2)
    // Of each partition about 17 MiB as fetched and once more as rows. The whole backlog would be 154 MB.
    expect(heldBytes() - before).toBeLessThan(100 * 1024 * 1024)
    proxy.mode = 'pass'
    await untilWritten(broker, topic)
    await expectExactly()
  })
})

/** What is in use after a collection, buffers included. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
