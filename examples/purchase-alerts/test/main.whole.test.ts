import { spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json, text } from 'node:stream/consumers'
import { openKafkaBroker } from '@tributary/broker/kafka'
import { installPartition } from '@tributary/broker/partition'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import { pino } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'

const start = (env: Record<string, string>) =>
  spawn(process.execPath, [join(import.meta.dirname, '..', 'main.ts')], { env, stdio: ['ignore', 'ignore', 'pipe'] })

test('says what is wrong with its settings instead of starting', async () => {
  const settings = { TRIBUTARY_KAFKA_BROKERS: '127.0.0.1:9', PURCHASE_ALERTS_WEBHOOK_URL: 'no address' }
  const child = start({ ...settings, PURCHASE_ALERTS_ABOVE: 'many' })
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
  expect(code).toBe(1)
  expect(said).toMatch(/PURCHASE_ALERTS_WEBHOOK_URL/)
  expect(said).toMatch(/USD:100,EUR:90/)
})

await describeWithEngine('kafka', (kafka) => {
  test('runs as a process of its own: posts purchases from Kafka, ends with 0', async () => {
    const broker = await openKafkaBroker({
      ...{ brokers: [kafka.url], client_id: 'test', linger_ms: 2, send_bytes_max: 1e5, buffer_bytes_max: 1e6 },
      logger: pino({ level: 'silent' }),
    })
    const topic = topics.eventsAccepted
    await broker.applyTopics([topic, deadLetterTopic(topic)])
    const posts: unknown[] = []
    const webhook = createServer(async (request, response) => {
      posts.push(await json(request))
      response.writeHead(204).end()
    })
    await once(webhook.listen(0, '127.0.0.1'), 'listening')
    const child = start({
      TRIBUTARY_KAFKA_BROKERS: kafka.url,
      TRIBUTARY_PORT: '0',
      PURCHASE_ALERTS_WEBHOOK_URL: `http://127.0.0.1:${(webhook.address() as AddressInfo).port}`,
      PURCHASE_ALERTS_ABOVE: 'USD:100,EUR:90',
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const log = text(child.stderr)

    const [app_id, install_uuid, ts_ms] = [`app_${randomBytes(10).toString('hex')}`, randomUUID(), Date.now()]
    const event = { event_id: 'e-1', event_name: 'purchase', install_uuid, event_ts_ms: ts_ms, revenue: 100.5 }
    const envelope = {
      ...{ v: 1, company_id: 'co_1', app_id, platform: 'ios', source: 'sdk', install_uuid, received_at_ms: ts_ms },
      ...{ ip: '', user_agent: '', sdk: '', sdk_platform: '', audit_key: '', events: [event] },
    }
    const partition = installPartition(app_id, install_uuid, topic.partitions)
    await broker.publish([{ topic: topic.name, partition, key: null, value: Buffer.from(JSON.stringify(envelope)) }])
    const alert = { app_id, install_uuid, event_id: 'e-1', ts_ms, revenue: 100.5, currency: 'USD' }
    await vi.waitFor(() => expect(posts).toContainEqual(alert), { timeout: 180_000, interval: 50 })

    child.kill('SIGTERM')
    const [code] = await once(child, 'exit')
    expect(code, await log).toBe(0)
    await broker.close()
    webhook.close()
  })
})
