import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { limits } from '@tributary/contracts/limits'
import { sdkEvent, signedHeaders } from '@tributary/testing/builders'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Gateway, openGateway } from './gateway.ts'

let gateway: Gateway
beforeEach(async () => {
  gateway = await openGateway()
})
/** Whatever came in: nothing of it was a fault of ours, and no secret left the process, in an answer or a log line. */
afterEach(() => {
  const { app, server_key } = gateway.tenant
  const said = gateway.logLines.join('')
  expect(said).not.toContain(app.signing_secret)
  expect(said).not.toContain(server_key)
  expect(said).not.toContain('"level":50')
})

const event = (change: Record<string, unknown> = {}) => sdkEvent({ event_ts_ms: gateway.now_ms, ...change })
/** An event as JSON text with further members, raw. */
const eventWith = (members: string) => `${JSON.stringify(event()).slice(0, -1)},${members}}`
const batchWith = (members: string) => `{"events":[${eventWith(members)}],"sent_at_ms":1}`
const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`

describe('hostile JSON', () => {
  test.each<[string, string, string | null, string?]>([
    ['1e400 as revenue', '"revenue":1e400', 'invalid_field', 'revenue'],
    ['1e400 as time', '"event_ts_ms":1e400', 'invalid_field', 'event_ts_ms'],
    ['1e400 in props', '"props":{"x":1e400}', null],
    ['duplicate keys: the last one counts', '"revenue":"x","revenue":1', null],
    ['duplicate keys, the last one bad', '"revenue":1,"revenue":"x"', 'invalid_field', 'revenue'],
    ['__proto__ is an ordinary key', '"__proto__":{"event_name":7},"constructor":{"prototype":1}', null],
    ['__proto__ in props', '"props":{"__proto__":{"platform":"ios"}}', null],
    ['lone surrogates', '"user_id":"\\ud800","\\udfff":1', null],
    ['100 000 levels in props', `"props":{"a":${deep(100_000)}}`, 'invalid_field', 'props'],
    ['100 000 levels in an unknown field', `"a":${deep(100_000)}`, 'invalid_field', 'a'],
    ['a field name of half a megabyte', `"${'k'.repeat(500_000)}":1`, 'invalid_field', 'k'.repeat(128)],
    ['an event name of half a megabyte', `"event_name":"${'n'.repeat(500_000)}"`, 'invalid_field', 'event_name'],
    ['an event id of half a megabyte', `"event_id":"${'e'.repeat(500_000)}"`, 'bad_event_id'],
    ['50 000 empty objects', `"props":{"a":[${Array(50_000).fill('{}').join()}]}`, 'invalid_field', 'props'],
  ])('%s', async (_what, members, reason, field) => {
    const bodies = [batchWith(members), gzipSync(batchWith(members))]
    for (const [index, body] of bodies.entries()) {
      const answer = await gateway.event(body, index === 0 ? {} : { 'content-encoding': 'gzip' })
      expect(answer.statusCode).toBe(200)
      const [result] = answer.json().results
      expect(result.reason ?? null).toBe(reason)
      if (reason) expect(result.field).toBe(field)
      expect(answer.body.length).toBeLessThan(1000)
      expect(JSON.parse(gateway.auditLines()[index] as string).body.events).toHaveLength(1)
    }
    if (reason === null) expect(gateway.envelopes().flatMap(({ events }) => events)).toHaveLength(2)
  })

  test('100 000 levels around everything, on every route', async () => {
    const bodies = [deep(100_000), `{"events":${deep(100_000)}}`, '{"a":'.repeat(100_000)]
    for (const body of bodies) {
      const answers = [await gateway.event(body), await gateway.s2s('/s2s/event', body.slice(0, 200_000))]
      answers.push(await gateway.s2s('/s2s/events/bulk', body))
      for (const { statusCode } of answers) expect(statusCode).toBeLessThan(500)
    }
  })

  test('wrong types everywhere are refused or rejected, never a fault', async () => {
    const known = ['event_id', 'event_name', 'event_ts_ms', 'install_uuid', 'user_id', 'revenue', 'currency']
    const item = fc.oneof(
      fc.jsonValue({ maxDepth: 3, noUnicodeString: false }),
      fc.dictionary(fc.constantFrom(...known, 'props', 'device', 'platform', '__proto__'), fc.jsonValue()),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(item, { maxLength: 5 }), fc.jsonValue(), async (events, sent_at_ms) => {
        const answers = [
          await gateway.event(JSON.stringify({ events, sent_at_ms })),
          await gateway.s2s('/s2s/events/bulk', { events }),
          await gateway.s2s('/s2s/event', JSON.stringify(events[0] ?? null)),
        ]
        for (const answer of answers) expect([200, 400]).toContain(answer.statusCode)
      }),
      { numRuns: 300 },
    )
  })

  test('any bytes at all', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 200 }),
        fc.constantFrom('', 'gzip', 'br'),
        async (bytes, encoding) => {
          const answer = await gateway.event(Buffer.from(bytes), { 'content-encoding': encoding })
          expect([400, 415]).toContain(answer.statusCode)
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe('hostile gzip', () => {
  test('bombs as large as the wire allows, 1000:1, end at the limit and memory stays flat', async () => {
    const member = gzipSync(Buffer.alloc(64 * 1024 * 1024), { level: 9 })
    const copies = Math.floor(limits.sdk_body_bytes_max / member.length)
    const bomb = Buffer.concat(Array(copies).fill(member))
    expect((copies * 64 * 1024 * 1024) / bomb.length).toBeGreaterThan(1000)
    const before = process.memoryUsage().rss
    let peak = before
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss)
    }, 1)
    const headers = { 'content-encoding': 'gzip' }
    for (let round = 0; round < 5; round += 1) {
      const answers = await Promise.all(Array.from({ length: 4 }, () => gateway.event(bomb, headers)))
      for (const answer of answers) expect(answer.json().error).toBe('decompressed_too_large')
    }
    // one member is under the size that is inflated at once, not in the thread pool
    expect((await gateway.event(gzipSync(Buffer.alloc(60e6)), headers)).json().error).toBe('decompressed_too_large')
    clearInterval(watch)
    // 4 at a time may hold 8 MiB each; unbounded it would be 4 GiB
    expect((peak - before) / 2 ** 20).toBeLessThan(200)
  })
})

describe('hostile HTTP', () => {
  /** Sends raw bytes over a real socket and gives what comes back until the peer closes. */
  async function raw(text: string): Promise<string> {
    const { port } = gateway.app.server.address() as AddressInfo
    const socket = connect(port, '127.0.0.1')
    let answer = ''
    socket.setEncoding('latin1').on('data', (chunk) => {
      answer += chunk
    })
    socket.write(text, 'latin1')
    await once(socket, 'close')
    return answer
  }
  beforeEach(async () => {
    await gateway.app.listen({ port: 0, host: '127.0.0.1' })
    return () => gateway.app.close()
  })
  const head = (path: string, headers: Record<string, string>) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n`

  test('a header that carries another one is refused by the parser or stays one value', async () => {
    const answer = await raw(head('/event', { 'X-Request-Id': 'a\nSet-Cookie: b=c' }))
    expect(answer).toMatch(/^HTTP\/1\.1 400/)
    expect(answer.toLowerCase()).not.toMatch(/\r?\nset-cookie/)
    const echoed = await raw(head('/event', { 'X-Request-Id': 'a b\tc' }))
    expect(echoed).toContain('missing_auth_headers')
    expect(echoed).not.toContain('a b\tc')
  })

  test('a chunked body that never says its size ends at the limit', async () => {
    const { port } = gateway.app.server.address() as AddressInfo
    async function* endless() {
      for (let sent = 0; sent < 4 * limits.sdk_body_bytes_max; sent += 65_536) yield Buffer.alloc(65_536, 0x20)
    }
    const answer = await fetch(`http://127.0.0.1:${port}/event`, {
      method: 'POST',
      headers: signedHeaders(gateway.tenant, ''),
      body: endless() as unknown as ReadableStream,
      duplex: 'half',
    } as RequestInit).then(
      (response) => response.json(),
      () => null, // the connection may end while the client still sends
    )
    if (answer) expect(answer).toMatchObject({ error: 'body_too_large' })
    expect(gateway.audit.objects.size).toBe(0)
  })

  test('a client that hangs up half-way is no fault of the service', async () => {
    const { port } = gateway.app.server.address() as AddressInfo
    const socket = connect(port, '127.0.0.1')
    socket.write(`${head('/event', { ...signedHeaders(gateway.tenant, 'x'), 'Content-Length': '9' })}{`)
    await expect.poll(async () => gateway.registry.metrics()).toContain('tributary_ingest_body_bytes_in_flight 1\n')
    socket.destroy()
    await expect.poll(async () => gateway.registry.metrics()).toContain('tributary_ingest_body_bytes_in_flight 0\n')
    await gateway.app.close() // whatever is logged of it is logged by now
    expect(gateway.logLines.join('')).not.toContain('request failed')
  })

  test('a key is judged before its huge body is read', async () => {
    const answer = await raw(
      head('/s2s/events/bulk', {
        Authorization: 'Bearer nobody',
        'Content-Length': String(limits.bulk_body_bytes_max * 9),
      }),
    )
    expect(answer).toContain('unknown_or_revoked_key')
    const unsigned = await raw(head('/event', { 'Content-Length': String(limits.sdk_body_bytes_max * 9) }))
    expect(unsigned).toContain('missing_auth_headers')
  })

  test.each([
    'application/json',
    'text/plain',
    'application/json; charset=;;',
    ';',
    'x'.repeat(1000),
    'application/x-www-form-urlencoded',
  ])('the content type is not asked: %s', async (type) => {
    const body = JSON.stringify({ events: [event()] })
    const headers = { ...signedHeaders(gateway.tenant, body), 'Content-Type': type, 'Content-Length': `${body.length}` }
    expect(await raw(head('/event', headers) + body)).toMatch(/^HTTP\/1\.1 200/)
  })

  test('headers that are stored are cut, and are data only', async () => {
    const text = JSON.stringify({ events: [event()] })
    const agent = `"}],"x":"${'é'.repeat(2000)}`
    await gateway.event(text, {
      'user-agent': agent,
      'x-service-sdk': '{{}}\u0001'.slice(0, 4),
      'x-service-platform': '__proto__',
    })
    const [envelope] = gateway.envelopes()
    expect(envelope).toMatchObject({
      user_agent: agent.slice(0, limits.stored_header_chars_max),
      sdk_platform: '__proto__',
    })
    expect(JSON.parse(gateway.auditLines()[0] as string).headers['user-agent']).toBe(envelope?.user_agent)
  })
})

test('the keys of one app open nothing of another', async () => {
  const { other, tenant } = gateway
  const body = JSON.stringify({ events: [event()] })
  const mixed = { ...signedHeaders(tenant, body), 'x-service-app-key': other.app_key }
  expect((await gateway.call('/event', mixed, body)).json().error).toBe('app_company_mismatch')
  const stolen = {
    ...signedHeaders(other, body),
    'x-service-signature': signedHeaders(tenant, body)['x-service-signature'],
  }
  expect((await gateway.call('/event', stolen as Record<string, string>, body)).json().error).toBe('bad_signature')
  await gateway.s2s('/s2s/event', event({ app_id: tenant.app.app_id }), {}, other)
  expect(gateway.envelopes().map(({ app_id }) => app_id)).toEqual([other.app.app_id])
})

test('metrics count requests by code and events by reason, the log has one line for each request', async () => {
  await gateway.event(JSON.stringify({ events: [event(), event({ revenue: 'x' })] }))
  await gateway.event('{')
  await gateway.event('x'.repeat(limits.sdk_body_bytes_max + 1))
  const metrics = await gateway.registry.metrics()
  expect(metrics).toContain('tributary_ingest_requests_total{route="/event",code="body_too_large"} 1')
  expect(metrics).toContain('tributary_ingest_requests_total{route="/event",code="ok"} 1')
  expect(metrics).toContain('tributary_ingest_requests_total{route="/event",code="bad_json"} 1')
  expect(metrics).toContain('tributary_ingest_events_total{route="/event",status="accepted",reason=""} 1')
  expect(metrics).toContain('tributary_ingest_events_total{route="/event",status="rejected",reason="invalid_field"} 1')
  const lines = gateway.logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'ingest request')
  expect(lines).toMatchObject([
    { code: 'ok', accepted: 1, rejected: { invalid_field: 1 }, app_id: gateway.tenant.app.app_id },
    { code: 'bad_json', accepted: 0 },
    { code: 'body_too_large', accepted: 0 },
  ])
})
