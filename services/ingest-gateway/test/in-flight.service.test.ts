import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { InFlightLimits } from '@tributary/gateway/in-flight'
import { sdkEvent, signedHeaders } from '@tributary/testing/builders'
import { expect, onTestFinished, test } from 'vitest'
import { openGateway } from './gateway.ts'

const roomy: InFlightLimits = { requests_max: 1000, body_bytes_max: 64 * 1024 * 1024 }

/** A gateway behind a trusted proxy that listens, with raw sockets as its clients; at the end nothing may be left in its hands. */
async function listen(limit: Partial<InFlightLimits>) {
  const gateway = await openGateway({ in_flight: { ...roomy, ...limit } }, { trusted_proxies: ['127.0.0.1'] })
  gateway.app.get('/other', async () => ({ ok: true }))
  await gateway.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = gateway.app.server.address() as AddressInfo
  const stalled = Promise.withResolvers<void>()
  const sockets: Socket[] = []
  onTestFinished(async () => {
    stalled.resolve()
    for (const socket of sockets) socket.destroy()
    await expect.poll(() => inHand(), { timeout: 180_000 }).toEqual([0, 0])
    await gateway.app.close()
  })
  const gauge = async (name: string) => (await gateway.registry.getSingleMetric(name)?.get())?.values[0]?.value
  /** Requests and bytes that the gateway counts as in flight. */
  const inHand = async () => [
    await gauge('tributary_ingest_requests_in_flight'),
    await gauge('tributary_ingest_body_bytes_in_flight'),
  ]

  async function open(): Promise<Client> {
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    let answer = ''
    const status = Promise.withResolvers<number>()
    socket.setEncoding('latin1').on('data', (text: string) => {
      answer += text
      if (answer.includes('\r\n')) status.resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]))
    })
    socket.on('error', () => {})
    await once(socket, 'connect')
    return { socket, answered: () => status.promise, text: () => answer }
  }
  const body = JSON.stringify({ events: [sdkEvent({ event_ts_ms: gateway.now_ms })] })
  const head = (text: Buffer | string, more: Record<string, string> = {}, path = '/event', as = gateway.tenant) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\n${Object.entries({
      'content-length': String(Buffer.byteLength(text)),
      ...signedHeaders(as, text),
      ...more,
    })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n`
  /** A whole request on a connection of its own. */
  async function send(
    text: Buffer | string = body,
    more: Record<string, string> = {},
    as = gateway.tenant,
  ): Promise<Client> {
    const client = await open()
    client.socket.write(head(text, more, '/event', as))
    client.socket.write(text)
    return client
  }
  /** From now on no request ends until `stalled` is resolved. */
  const stall = () => {
    gateway.log.until = stalled.promise
  }
  const other = async () => (await fetch(`http://127.0.0.1:${port}/other`)).status
  return { gateway, open, head, send, stall, stalled, inHand, other, body }
}

interface Client {
  socket: Socket
  /** The status of the first answer. */
  answered: () => Promise<number>
  text: () => string
}

test('a request beyond the most is answered 503 at once, before its body comes; the rest of the service answers', async () => {
  const { head, open, send, stall, stalled, inHand, other } = await listen({ requests_max: 4 }) // half of them for one app
  stall()
  const first = [await send(), await send()]
  await expect.poll(async () => (await inHand())[0]).toBe(2)
  const refused = await open()
  refused.socket.write(head('x'.repeat(1000)))
  expect(await refused.answered()).toBe(503)
  expect(refused.text()).toMatch(/retry-after: 1\r\n/i)
  expect(refused.text()).toContain('"error":"unavailable"')
  expect(await other()).toBe(200)
  stalled.resolve()
  expect(await Promise.all(first.map(({ answered }) => answered()))).toEqual([200, 200])
  expect(await (await send()).answered()).toBe(200)
})

test('a refused client may send again on its connection', async () => {
  const { send, stall, stalled, inHand, body, head } = await listen({ requests_max: 1 })
  stall()
  const first = await send()
  await expect.poll(async () => (await inHand())[0]).toBe(1)
  const refused = await send()
  expect(await refused.answered()).toBe(503)
  stalled.resolve()
  expect(await first.answered()).toBe(200)
  refused.socket.write(head(body) + body)
  await expect.poll(() => refused.text()).toContain('HTTP/1.1 200')
})

test('a refusal before an endless body closes the connection', async () => {
  const { open, send, stall, inHand, gateway } = await listen({ requests_max: 1 })
  stall()
  await send()
  await expect.poll(async () => (await inHand())[0]).toBe(1)
  const { socket, answered, text } = await open()
  const auth = Object.entries(signedHeaders(gateway.tenant, '')).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`POST /event HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n${auth.join('')}\r\n1\r\nx\r\n`)
  expect(await answered()).toBe(503)
  expect(text()).toMatch(/connection: close/i)
})

test('clients whose bodies do not come use no place up', async () => {
  const { head, open, send } = await listen({ requests_max: 1 })
  for (let n = 0; n < 20; n += 1) (await open()).socket.write(`${head('x'.repeat(1000))}x`)
  expect(await (await send()).answered()).toBe(200)
})

test('a body that is held back makes room for those who come, and is answered; its bytes are free again', async () => {
  const { head, open, send, inHand, body } = await listen({ body_bytes_max: 800_000 }) // a quarter for unsigned bodies, half of it for one address
  const holder = await open()
  holder.socket.write(head('x'.repeat(200_000)))
  holder.socket.write('x'.repeat(99_990))
  await expect.poll(async () => (await inHand())[1]).toBe(99_990)
  expect(await (await send()).answered()).toBe(200)
  expect(await holder.answered()).toBe(503)
  expect(holder.text()).toMatch(/retry-after: 1\r\n/i)
  await expect.poll(async () => (await inHand())[1]).toBe(0)
  // What still comes of it is dropped, and the connection is good for the next request.
  holder.socket.write('x'.repeat(100_010) + head(body) + body)
  await expect.poll(() => holder.text()).toContain('HTTP/1.1 200')
  const gone = await open()
  gone.socket.write(head('x'.repeat(200_000)))
  gone.socket.write('x'.repeat(99_990))
  await expect.poll(async () => (await inHand())[1]).toBe(99_990)
  gone.socket.destroy()
  await expect.poll(async () => (await inHand())[1]).toBe(0)
})

test('a body counts as what it inflates to, on every route', async () => {
  const { send, gateway } = await listen({ body_bytes_max: 100_000 })
  const event = sdkEvent({ event_ts_ms: gateway.now_ms, props: { note: 'x'.repeat(10_000) } })
  const gzip = { 'content-encoding': 'gzip' }
  const small = gzipSync(JSON.stringify({ events: [event] }))
  expect(await (await send(small, gzip)).answered()).toBe(200)
  const large = gzipSync(JSON.stringify({ events: Array(20).fill(event) }))
  expect(large.length).toBeLessThan(10_000)
  expect(await (await send(large, gzip)).answered()).toBe(503)
  const s2s = await gateway.s2s('/s2s/events/bulk', large, gzip)
  expect([s2s.statusCode, s2s.json().error]).toEqual([503, 'unavailable'])
})

test('a client that hangs up frees its place only when the work for it has ended', async () => {
  const { send, stall, stalled, inHand } = await listen({ requests_max: 1 })
  stall()
  const gone = await send()
  await expect.poll(async () => (await inHand())[0]).toBe(1)
  gone.socket.destroy()
  await once(gone.socket, 'close')
  expect(await (await send()).answered()).toBe(503)
  expect((await inHand())[1]).toBeGreaterThan(0)
  stalled.resolve()
  await expect.poll(async () => await (await send()).answered()).toBe(200)
})

test('with thousands of large bodies at once memory stays bounded, the rest is answered, and full service returns', async () => {
  const { head, open, send, stall, stalled, inHand, other, gateway } = await listen({
    body_bytes_max: 32 * 1024 * 1024,
  })
  const clients = 2000
  stall()
  const filler = 'x'.repeat(15_000)
  const events = Array.from({ length: 16 }, () => sdkEvent({ event_ts_ms: gateway.now_ms, props: { filler } }))
  const large = Buffer.from(JSON.stringify({ events }))
  expect(large.length).toBeGreaterThan(240_000)
  const before = process.memoryUsage().rss
  let peak = 0
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss)
  }, 10)
  const flood: Client[] = []
  // No more at once than wait to be accepted, or TCP itself holds the others back.
  while (flood.length < clients) flood.push(...(await Promise.all(Array.from({ length: 250 }, open))))
  const request = head(large)
  for (const { socket } of flood) {
    socket.write(request)
    socket.write(large)
  }
  const refused = () => flood.filter(({ text }) => text().startsWith('HTTP/1.1 503')).length
  await expect.poll(refused, { timeout: 180_000 }).toBeGreaterThan(clients - 40)
  expect(await other()).toBe(200)
  expect((await inHand())[1]).toBeLessThanOrEqual(16 * 1024 * 1024)
  clearInterval(watch)
  stalled.resolve()
  const statuses = await Promise.all(flood.map(({ answered }) => answered()))
  const accepted = statuses.filter((status) => status === 200).length
  expect(accepted).toBeGreaterThan(20)
  expect(accepted + statuses.filter((status) => status === 503).length).toBe(clients)
  // All of them together are half a gigabyte; the clients of this test are in this process too.
  expect((peak - before) / 2 ** 20).toBeLessThan(350)
  expect(await (await send()).answered()).toBe(200)
})

const from = (address: string) => ({ 'x-forwarded-for': address })

test('bodies that nobody signed yet leave room for others, of the same app too, and for its backend', async () => {
  const { head, open, send, inHand, gateway, body } = await listen({ body_bytes_max: 800_000 })
  for (let n = 0; n < 4; n += 1) {
    const { socket } = await open()
    socket.write(head('x'.repeat(60_000), from('192.0.2.1')))
    socket.write('x'.repeat(50_000))
  }
  await expect.poll(async () => (await inHand())[1]).toBeGreaterThanOrEqual(50_000)
  const large = { ...sdkEvent({ event_ts_ms: gateway.now_ms }), props: { filler: 'x'.repeat(10_000) } }
  const batch = JSON.stringify({ events: Array(5).fill(large) })
  expect(await (await send(batch, from('192.0.2.1'))).answered()).toBe(200)
  expect(await (await send(batch, from('192.0.2.2'))).answered()).toBe(200)
  expect(await (await send(body, from('192.0.2.4'), gateway.other)).answered()).toBe(200)
  const backend = await gateway.s2s('/s2s/events/bulk', { events: Array(5).fill(large) })
  expect(backend.statusCode).toBe(200)
})

test('bodies held back with the keys of an app, from many addresses, refuse none of its phones and none of another app', async () => {
  const { head, open, send, inHand, body, gateway } = await listen({ body_bytes_max: 4_000_000 })
  const held: Client[] = []
  // Small ones after large ones, each from an address of its own, so that no byte is left.
  const sizes = [...Array(20).fill(60_000), 30_000, 10_000, 5000, 2000, 1000, 500, 200, 100, 50, 20, 10]
  const refill = async () => {
    for (const size of sizes) {
      const client = await open()
      const signature = { 'x-service-signature': '0'.repeat(64) }
      client.socket.write(head('x'.repeat(900_000), { ...from(`192.0.2.${held.length}`), ...signature }))
      client.socket.write('x'.repeat(size))
      held.push(client)
    }
  }
  await refill()
  await expect.poll(async () => (await inHand())[1]).toBeGreaterThan(800_000)
  gateway.pass(1000)
  const statuses = []
  for (let n = 0; n < 20; n += 1) {
    if (n % 5 === 4) await refill()
    for (const as of [gateway.tenant, gateway.other])
      statuses.push(await (await send(body, from(`198.51.100.${n}`), as)).answered())
    gateway.pass(50)
  }
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect((await inHand())[1]).toBeLessThanOrEqual(1_000_000)
  const answers = held.map(({ text }) => text()).filter((text) => text !== '')
  expect(answers.length).toBeGreaterThan(50)
  for (const text of answers) expect(text).toMatch(/^HTTP\/1.1 503/)
})

test('what an app keeps in memory leaves room for others: records count as what they are, not as what came', async () => {
  const { gateway, send, stall, stalled, inHand, body } = await listen({ body_bytes_max: 2_000_000 })
  stall()
  const events = Array.from({ length: 400 }, (_, n) =>
    sdkEvent({ event_ts_ms: gateway.now_ms, install_uuid: `i-${n}` }),
  )
  const many = gzipSync(JSON.stringify({ events }))
  const gzip = { 'content-encoding': 'gzip', 'user-agent': 'x'.repeat(500), ...from('192.0.2.1') }
  const first = await send(many, gzip)
  await expect.poll(async () => (await inHand())[1]).toBeGreaterThan(400 * 1500)
  expect(many.length).toBeLessThan(20_000)
  expect(await (await send(many, { ...gzip, ...from('192.0.2.2') })).answered()).toBe(503)
  const other = await send(body, from('192.0.2.3'), gateway.other)
  await expect.poll(async () => (await inHand())[0]).toBe(2)
  stalled.resolve()
  expect([await first.answered(), await other.answered()]).toEqual([200, 200])
})

test('requests that an app has in hand leave room for others', async () => {
  const { send, stall, stalled, inHand, gateway, body } = await listen({ requests_max: 4 })
  stall()
  const first = [await send(body, from('192.0.2.1')), await send(body, from('192.0.2.2'))]
  await expect.poll(async () => (await inHand())[0]).toBe(2)
  expect(await (await send(body, from('192.0.2.3'))).answered()).toBe(503)
  const other = await send(body, from('192.0.2.4'), gateway.other)
  await expect.poll(async () => (await inHand())[0]).toBe(3)
  stalled.resolve()
  for (const { answered } of [...first, other]) expect(await answered()).toBe(200)
})

test('requests that the apps of a company have in hand leave room for other companies', async () => {
  const { send, stall, stalled, inHand, gateway, body } = await listen({ requests_max: 6 })
  stall()
  const first = []
  for (const as of [gateway.tenant, gateway.tenant, gateway.tenant, gateway.sibling]) {
    first.push(await send(body, from(`192.0.2.${first.length}`), as))
    await expect.poll(async () => (await inHand())[0]).toBe(first.length)
  }
  expect(await (await send(body, from('192.0.2.5'), gateway.sibling)).answered()).toBe(503)
  first.push(await send(body, from('192.0.2.6'), gateway.other))
  await expect.poll(async () => (await inHand())[0]).toBe(5)
  stalled.resolve()
  for (const { answered } of first) expect(await answered()).toBe(200)
})

test('what comes of a sender with unknown keys is dropped, and its answer stays the same', async () => {
  const { head, open, inHand, gateway } = await listen({ body_bytes_max: 100_000 })
  const stranger = { 'x-service-company-key': 'ck_nobody' }
  const { socket, answered, text } = await open()
  socket.write(head('x'.repeat(900_000), stranger))
  socket.write('x'.repeat(899_999))
  await expect.poll(() => socket.bytesWritten).toBeGreaterThan(899_999)
  expect((await inHand())[1]).toBe(0)
  socket.write('x')
  expect(await answered()).toBe(401)
  expect(text()).toContain('unknown_company_key')
  const answerTo = async (body: string) =>
    (await gateway.call('/event', { ...signedHeaders(gateway.tenant, body), ...stranger }, body)).json().error
  expect(await answerTo('')).toBe('empty_body')
  expect(await answerTo('x'.repeat(2 ** 20 + 1))).toBe('body_too_large')
})

test('a body that comes too slowly is ended with 408, known sender or not; one that keeps pace is not', async () => {
  const { gateway, head, open } = await listen({})
  const slow = [await open(), await open()]
  slow[0]!.socket.write(`${head('x'.repeat(200_000))}x`)
  slow[1]!.socket.write(`${head('x'.repeat(200_000), { 'x-service-company-key': 'ck_nobody' })}x`)
  const brisk = await open()
  brisk.socket.write(head('x'.repeat(200_000)))
  brisk.socket.write('x'.repeat(100_000))
  await expect.poll(async () => gateway.registry.metrics()).toMatch(/body_bytes_in_flight 100001\n/)
  gateway.pass(6000)
  for (const { answered, text, socket } of slow) {
    expect(await answered()).toBe(408)
    await expect.poll(() => socket.closed).toBe(true)
    expect(text()).toContain('"error":"request_timeout"')
  }
  brisk.socket.write('x'.repeat(100_000))
  expect(await brisk.answered()).toBe(400)
})
