import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import type { LogRecord } from '@tributary/broker/broker'
import { type EmbeddedBroker, openEmbeddedBroker } from '@tributary/broker/embedded'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { purchaseAlerts } from '../purchase-alerts.ts'

const topic = topics.eventsAccepted
const ts_ms = Date.UTC(2026, 5, 1, 12)
const app_id = `app_${randomBytes(10).toString('hex')}`
const soon = { timeout: 180_000, interval: 2 }
const fetchAtOnce = { bytes_min: 1, wait_ms_max: 1 }

/** What the webhook got, in order; `key` is the Idempotency-Key. */
interface Post {
  key: string
  event_id: string
  alert: Record<string, unknown>
}
let posts: Post[]
/** How the webhook answers; one that returns without a word keeps silent. */
let answer: (post: Post, response: ServerResponse) => void
const accept = (_: Post, response: ServerResponse) => void response.writeHead(204).end()
/** Answers the first post of the event with this status, all else with 204. */
const failOnce = (event_id: string, status: number, headers = {}) => {
  let failed = false
  return (post: Post, response: ServerResponse) => {
    if (failed || post.event_id !== event_id) return accept(post, response)
    failed = true
    response.writeHead(status, headers).end('no')
  }
}

const webhook = createServer(async (request: IncomingMessage, response) => {
  // What a redirect turns a POST into when it is followed: answered, and the purchase would be lost.
  if (request.method !== 'POST') return response.writeHead(200).end()
  const alert = (await json(request)) as Record<string, unknown>
  const post = { key: String(request.headers['idempotency-key']), event_id: String(alert.event_id), alert }
  posts.push(post)
  answer(post, response)
})

let dir: string
let broker: EmbeddedBroker
beforeEach(async () => {
  posts = []
  answer = accept
  if (!webhook.listening) await once(webhook.listen(0, '127.0.0.1'), 'listening')
  dir = await mkdtemp(join(tmpdir(), 'tributary-alerts-'))
  broker = await openEmbeddedBroker({ dir, now: Date.now, partitions: 1 })
  await broker.applyTopics([topic, deadLetterTopic(topic)])
})
afterEach(async () => {
  await broker.close()
  webhook.closeAllConnections()
  await rm(dir, { recursive: true, force: true })
})
afterAll(() => webhook.close())

const publish = (...values: Buffer[]) =>
  broker.publish(values.map((value) => ({ topic: topic.name, partition: 0, key: null, value })))

const purchase = (event_id: string, revenue: unknown, currency?: string, change = {}) => ({
  event_id,
  event_name: 'purchase',
  install_uuid: 'i-1',
  event_ts_ms: ts_ms,
  revenue,
  currency,
  ...change,
})

const envelope = (...events: Record<string, unknown>[]) =>
  Buffer.from(
    JSON.stringify({
      v: 1,
      ...{ company_id: 'co_1', app_id, platform: 'ios', source: 'sdk', install_uuid: 'i-1', received_at_ms: ts_ms },
      ...{ ip: '', user_agent: '', sdk: '', sdk_platform: '', audit_key: '', events },
    }),
  )

/** Runs the consumer on all that the log holds, and closes it once nothing is left to do. */
async function consume({ timeout_ms = 60_000, crash = (_step: number) => {} } = {}) {
  const { port } = webhook.address() as AddressInfo
  const running = await runConsumer({
    broker,
    consumer: purchaseAlerts({
      webhook_url: `http://127.0.0.1:${port}/hook`,
      above: { USD: 100, EUR: 8.2 },
      timeout_ms,
    }),
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    now: Date.now,
    fetch: fetchAtOnce,
    pauses: { first_ms: 1, most_ms: 2 },
    crash,
  })
  await vi.waitFor(async () => {
    const [partition] = await broker.groupOffsets('purchase-alerts', topic.name)
    expect(partition?.committed).toBe(partition?.end)
  }, soon)
  await running.close()
}

/** Reason and value of everything in the dead-letter topic. */
async function deadLetters() {
  const [partition] = await broker.groupOffsets('reader', deadLetterTopic(topic).name)
  const dead: LogRecord[] = []
  const reading = await broker.consume({
    group: 'reader',
    topic: deadLetterTopic(topic).name,
    ...fetchAtOnce,
    bytes_max: 1024 * 1024,
    onChunk: async ({ records }) => void dead.push(...records),
  })
  await vi.waitFor(() => expect(dead).toHaveLength(partition?.end ?? 0), soon)
  await reading.close()
  return dead.map(({ headers, value }) => ({ reason: headers.reason, value: value.toString() }))
}

const ids = () => posts.map(({ event_id }) => event_id)

test('posts each purchase above the amount of its currency once, and nothing else', async () => {
  await publish(
    envelope(
      purchase('usd', 100.01, 'usd'),
      purchase('usd, equal', 100, 'USD'),
      purchase('usd by default', 2000),
      purchase('eur', 8.21, 'EUR'),
      purchase('eur, equal', 8.2, 'EUR'),
      purchase('other currency', 1e9, 'JPY'),
      purchase('refund', 500, 'USD', { event_name: 'purchase_refunded' }),
      purchase('negative', -500, 'USD'),
    ),
    envelope(purchase('no money', undefined), purchase('null', null), purchase('nothing', 0)),
    envelope(purchase('last', 101, 'USD')),
  )
  await consume()
  expect(ids()).toEqual(['usd', 'usd by default', 'eur', 'last'])
  expect(posts[0]?.alert).toEqual({
    ...{ app_id, install_uuid: 'i-1', event_id: 'usd', ts_ms, revenue: 100.01, currency: 'USD' },
  })
  expect(new Set(posts.map(({ key }) => key)).size).toBe(4)
  expect(await deadLetters()).toEqual([])
})

test.each([
  [503, {}],
  [500, {}],
  [429, {}],
  [408, {}],
  [302, { location: '/elsewhere' }],
])('comes again after a %i with the same key, and posts nothing else twice', async (status, headers) => {
  answer = failOnce('b', status, headers)
  await publish(envelope(purchase('a', 101)), envelope(purchase('b', 102)), envelope(purchase('c', 103)))
  await consume()
  expect(ids()).toEqual(['a', 'b', 'b', 'c'])
  expect(posts[1]?.key).toBe(posts[2]?.key)
  expect(await deadLetters()).toEqual([])
})

test('comes again when the webhook keeps silent', async () => {
  let silent = true
  answer = (post, response) => {
    if (!silent) accept(post, response)
    silent = false
  }
  await publish(envelope(purchase('a', 101)))
  await consume({ timeout_ms: 100 })
  // On a busy machine the answer itself may come too late, so twice or more.
  expect(posts.length).toBeGreaterThan(1)
  expect(new Set(posts.map(({ key }) => key)).size).toBe(1)
})

test('a purchase that the webhook refuses is dead with its reason, and the others are posted', async () => {
  answer = failOnce('b', 400)
  const refused = envelope(purchase('b', 102))
  await publish(envelope(purchase('a', 101)), refused, envelope(purchase('c', 103)))
  await consume()
  expect(ids()).toEqual(['a', 'b', 'c'])
  expect(await deadLetters()).toEqual([{ reason: 'webhook_400', value: refused.toString() }])
})

test('a refused purchase stays dead when the batch comes again for another one', async () => {
  const refuse = failOnce('a', 404)
  const fail = failOnce('b', 503)
  answer = (post, response) => (post.event_id === 'a' ? refuse : fail)(post, response)
  await publish(envelope(purchase('a', 101)), envelope(purchase('b', 102)))
  await consume()
  expect(ids()).toEqual(['a', 'b', 'b'])
  expect((await deadLetters()).map(({ reason }) => reason)).toEqual(['webhook_404'])
})

test('what cannot be decoded is dead, never posted, and holds up nothing', async () => {
  const wrong = [
    Buffer.from('{"v":1'),
    Buffer.from('{"v":2}'),
    envelope(purchase('text', '1000', 'USD')),
    envelope(purchase('money', 1e300, 'USD')),
  ]
  await publish(...wrong, envelope(purchase('good', 101)))
  await consume()
  expect(ids()).toEqual(['good'])
  expect(await deadLetters()).toEqual(wrong.map((value) => ({ reason: 'undecodable', value: value.toString() })))
})

test('a crash between the post and the commit has it posted again with the same key', async () => {
  let crashes = 1
  const crash = (step: number) => {
    if (step === 4 && crashes-- > 0) throw new Error('crash')
  }
  await publish(envelope(purchase('a', 101)))
  await consume({ crash })
  expect(ids()).toEqual(['a', 'a'])
  expect(posts[0]?.key).toBe(posts[1]?.key)
})

test('an event that a client sent twice has one key, so that the webhook can tell', async () => {
  await publish(envelope(purchase('a', 101)), envelope(purchase('a', 101), purchase('b', 101)))
  await consume()
  expect(ids()).toEqual(['a', 'a', 'b'])
  expect(posts.map(({ key }) => key === posts[0]?.key)).toEqual([true, true, false])
})
