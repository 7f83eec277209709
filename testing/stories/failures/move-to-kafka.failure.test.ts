import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openKafkaBroker } from '@tributary/broker/kafka'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import { client, compare, type LoadTarget } from '@tributary/testing/standalone/kill-run'
import { startStandaloneProcess, waitUntilWritten } from '@tributary/testing/standalone/standalone-process'
import { isExact } from '@tributary/testing/verify-events'
import pino from 'pino'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

await describeWithOwnEngine('kafka', (kafka) => {
  let data_dir: string
  beforeEach(() => {
    data_dir = mkdtempSync(join(tmpdir(), 'tributary-move-'))
  })
  afterEach(() => rmSync(data_dir, { recursive: true, force: true }))

  it('a standalone that moves from its own log to Kafka counts what comes after, and nothing twice', async () => {
    const acknowledged = new Set<string>()
    const unanswered = new Set<string>()
    const load = async (env: Record<string, string>, batches: number) => {
      const standalone = await startStandaloneProcess({ data_dir, env })
      const target: LoadTarget = { standalone, ended: false }
      const clients = Array.from({ length: 4 }, () => client(target, standalone.demo(), true, acknowledged, unanswered))
      await vi.waitFor(() => expect(acknowledged.size).toBeGreaterThan(batches), { timeout: 180_000 })
      target.ended = true
      await Promise.all(clients)
      await waitUntilWritten(standalone.url, data_dir)
      expect(await standalone.stop('SIGTERM')).toBe(0)
    }
    await load({}, 30)

    const brokers = [kafka.url]
    const sizes = { linger_ms: 2, send_bytes_max: 500_000, buffer_bytes_max: 1_000_000 }
    const broker = await openKafkaBroker({
      ...{ brokers, client_id: 'test', ...sizes },
      logger: pino({ level: 'silent' }),
    })
    await broker.applyTopics(Object.values(topics).flatMap((topic) => [topic, deadLetterTopic(topic)]))
    await broker.close()
    await load({ TRIBUTARY_KAFKA_BROKERS: kafka.url }, 70)
    const verdict = await compare(data_dir, acknowledged, unanswered)
    expect(verdict, JSON.stringify(verdict)).toSatisfy(isExact)
    expect(verdict.in_events_raw).toBeGreaterThan(70 * 20)
  })
})
