import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { CodedError } from '@tributary/contracts/errors'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { afterEach, describe, expect, test } from 'vitest'

const logger = pino({ level: 'silent' })
const patience = {
  headers_wait_ms_max: 200,
  request_wait_ms_max: 400,
  silence_ms_max: 300,
  keep_alive_ms: 200,
  lateness_check_ms: 50,
}
/** Far beyond every wait above, below those of `limits` and the library's own. */
const late_ms = 9000

let app: FastifyInstance
/** Requests whose headers are read. */
let begun = 0
afterEach(() => app.close())

async function listen(options: Partial<Parameters<typeof createHttpApp>[0]> = {}) {
  app = createHttpApp({ logger, ...options })
  begun = 0
  app.addHook('onRequest', async () => {
    begun += 1
  })
  app.post('/body', async (request) => ({ bytes: (request.body as Buffer | undefined)?.length ?? 0 }))
  app.get<{ Querystring: { retry_after?: string } }>('/away', async ({ query: { retry_after } }) => {
    throw new CodedError('unavailable', retry_after ? { headers: { 'retry-after': retry_after } } : {})
  })
  app.get('/who', async (request) => ({ client_ip: request.client_ip, headers: Object.keys(request.headers).length }))
  await app.listen({ port: 0, host: '127.0.0.1' })
}

async function open(first = '', localAddress = '127.0.0.1'): Promise<Socket & { answer: string }> {
  const { port } = app.server.address() as AddressInfo
  const socket = Object.assign(connect({ port, host: '127.0.0.1', localAddress }), { answer: '' })
  socket.setEncoding('latin1').on('data', (text: string) => {
    socket.answer += text
  })
  socket.on('error', () => {})
  await once(socket, 'connect')
  if (first !== '') socket.write(first, 'latin1')
  return socket
}

/** What came back until the server closed the connection. */
async function untilClosed(socket: Socket & { answer: string }): Promise<string> {
  const closed = Promise.withResolvers<void>()
  const late = setTimeout(() => closed.reject(new Error('the connection is still open')), late_ms)
  if (socket.closed) closed.resolve()
  socket.once('close', closed.resolve)
  await closed.promise.finally(() => clearTimeout(late))
  return socket.answer
}

function drip(socket: Socket, text: string) {
  const timer = setInterval(() => socket.write(text), 20)
  socket.once('close', () => clearInterval(timer))
}

const bodyOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))

describe('a slow client', () => {
  test('that drips headers without end is answered 408 and closed', async () => {
    await listen({ patience })
    const socket = await open('POST /body HTTP/1.1\r\nHost: x\r\n')
    drip(socket, 'X-Drip: 1\r\n')
    const answer = await untilClosed(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(bodyOf(answer)).toMatchObject({ error: 'request_timeout', request_id: expect.stringMatching(/./) })
  })

  test('that drips its body is answered 408 and closed', async () => {
    await listen({ patience })
    const socket = await open('POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n')
    drip(socket, 'x')
    expect(await untilClosed(socket)).toMatch(/^HTTP\/1\.1 408 /)
  })

  test('that drips a chunked body is answered 408 and closed', async () => {
    await listen({ patience })
    const socket = await open('POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
    drip(socket, '1\r\nx\r\n')
    expect(await untilClosed(socket)).toMatch(/^HTTP\/1\.1 408 /)
  })

  test('that says nothing, or stops in the middle, is closed', async () => {
    await listen({ patience })
    const sockets = await Promise.all([open(), open('POST'), open('POST /body HTTP/1.1\r\nContent-Length: 9\r\n\r\nx')])
    await Promise.all(sockets.map(untilClosed))
  })

  test('is not what an ordinary one is: its connection lives on, and is closed when it rests', async () => {
    await listen({ patience })
    const socket = await open('GET /who HTTP/1.1\r\nHost: x\r\n\r\n')
    while (!socket.answer.includes('client_ip')) await once(socket, 'data')
    socket.write('GET /who HTTP/1.1\r\nHost: x\r\n\r\n')
    expect((await untilClosed(socket)).split('HTTP/1.1 200').length - 1).toBe(2)
  })
})

describe('what is no request', () => {
  test.each([
    ['a PROXY preamble', 'PROXY TCP4 192.0.2.1 192.0.2.2 4711 80\r\nGET /who HTTP/1.1\r\nHost: x\r\n\r\n'],
    [
      'a PROXY preamble of version 2',
      '\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\0\0\0\0\0\0\0\0\0\0\0\0GET /who HTTP/1.1\r\n\r\n',
    ],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['two lengths', 'POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx'],
    [
      'a length and chunks',
      'POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0',
    ],
  ])('%s is a 400 and closes, and nothing behind it is read', async (_what, text) => {
    await listen()
    const answer = await untilClosed(await open(text))
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer.split('HTTP/1.1')).toHaveLength(2)
    expect(bodyOf(answer)).toMatchObject({ error: 'bad_json' })
  })

  test.each([
    ['beyond 16 KiB', `X-Long: ${'x'.repeat(17 * 1024)}\r\n`],
    ['beyond a hundred', Array.from({ length: 100 }, (_, n) => `a${n}: 1\r\n`).join('')],
  ])('headers %s are a 431', async (_what, headers) => {
    await listen()
    expect(await untilClosed(await open(`GET /who HTTP/1.1\r\nHost: x\r\n${headers}\r\n`))).toMatch(/^HTTP\/1\.1 431 /)
  })
})

test.each([
  ['DELETE', '/who', '405 Method Not Allowed', 'method_not_allowed'],
  ['FOO', '/who', '405 Method Not Allowed', 'method_not_allowed'],
  ['FOO', '/%77ho?a=b', '405 Method Not Allowed', 'method_not_allowed'],
  ['FOO', '/nothing', '404 Not Found', 'not_found'],
  ['FOO', '/admin/things', '404 Not Found', 'not_found'],
])('a method that nobody knows is refused as one of another route: %s %s', async (method, path, status, error) => {
  await listen()
  const answer = await untilClosed(await open(`${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`))
  expect(answer.split('\r\n')[0]).toBe(`HTTP/1.1 ${status}`)
  expect(bodyOf(answer).error).toBe(error)
  if (error === 'method_not_allowed') expect(answer).toMatch(/^allow: GET, HEAD\r$/im)
})

test('an address that is too long is uri_too_long, headers that are too long are not', async () => {
  await listen()
  const long = `GET /who?a=${'x'.repeat(17 * 1024)}`
  for (const sent of [long, `${long} HTTP/1.1\r\nHost: x\r\n\r\n`]) {
    const answer = await untilClosed(await open(sent))
    expect(answer).toMatch(/^HTTP\/1\.1 414 /)
    expect(bodyOf(answer)).toEqual({ error: 'uri_too_long', request_id: expect.stringMatching(/./) })
  }
})

test('HEAD is GET without its content', async () => {
  await listen()
  const [get, head] = await Promise.all((['GET', 'HEAD'] as const).map((method) => app.inject({ method, url: '/who' })))
  expect([head?.statusCode, head?.body, head?.headers['content-length']]).toEqual([
    200,
    '',
    get?.headers['content-length'],
  ])
  expect((await app.inject({ method: 'HEAD', url: '/away' })).statusCode).toBe(503)
  expect((await app.inject({ method: 'HEAD', url: '/body' })).statusCode).toBe(405)
})

test('percent-encoded letters of a path are the letters', async () => {
  await listen()
  expect((await app.inject('/%77%68o')).statusCode).toBe(200)
  const wrong = await app.inject({ method: 'POST', url: '/%77ho' })
  expect([wrong.statusCode, wrong.headers.allow]).toEqual([405, 'GET, HEAD'])
})

describe('connections', () => {
  /** A connection that was answered and stays open; null when it was closed instead. */
  async function openServed(from: string): Promise<Socket | null> {
    const socket = await open('GET /who HTTP/1.1\r\nHost: x\r\n\r\n', from)
    await Promise.race([once(socket, 'data'), once(socket, 'close')])
    return socket.answer === '' ? null : socket
  }
  async function openAll(from: string): Promise<Socket[]> {
    const sockets: Socket[] = []
    for (let socket = await openServed(from); socket !== null; socket = await openServed(from)) sockets.push(socket)
    return sockets
  }

  test('one address takes at most what it leaves free, a newcomer finds room, and it comes back', async () => {
    await listen({ patience: { connections_max: 20 } })
    const [first, ...others] = await openAll('127.0.0.2')
    expect(others).toHaveLength(9)
    expect((await openAll('127.0.0.3')).length).toBeGreaterThanOrEqual(4)
    expect(await openServed('127.0.0.4')).not.toBeNull()
    expect(await openServed('127.0.0.2')).toBeNull()
    for (const socket of others) socket.destroy()
    await expect.poll(() => openServed('127.0.0.2')).not.toBeNull()
    first?.destroy()
  })

  test('those of trusted proxies take all there is; beyond the most they are closed as well', async () => {
    await listen({ patience: { connections_max: 20 }, trusted_proxies: ['127.0.0.2'] })
    const sockets = await openAll('127.0.0.2')
    expect(sockets).toHaveLength(20)
    expect(await openServed('127.0.0.3')).toBeNull()
    sockets[0]?.destroy()
    await expect.poll(() => openServed('127.0.0.3')).not.toBeNull()
  })
})

test('a server that stops does not wait for connections that never spoke', async () => {
  await listen()
  const sockets = [await open(), await open()]
  await expect.poll(() => new Promise((resolve) => app.server.getConnections((_error, n) => resolve(n)))).toBe(2)
  const closed = Promise.all(sockets.map(untilClosed))
  await Promise.all([app.close(), closed])
})

test('a server that stops waits only so long for who does not end', async () => {
  await listen({ patience: { drain_ms_max: 100 } })
  const answered = await open('GET /who HTTP/1.1\r\nHost: x\r\n\r\n')
  while (!answered.answer.includes('client_ip')) await once(answered, 'data')
  const sockets = await Promise.all([open('POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx')])
  await expect.poll(() => begun).toBe(2)
  const closed = Promise.all([...sockets, answered].map(untilClosed))
  const started = performance.now()
  await Promise.all([app.close(), closed])
  expect(performance.now() - started).toBeLessThan(late_ms)
})

test('a request under way at the stop is answered, and its connection and the server close with the answer', async () => {
  await listen()
  const socket = await open('POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nx')
  await expect.poll(() => begun).toBe(1)
  const started = performance.now()
  const closed = app.close()
  socket.write('x')
  expect(await untilClosed(socket)).toMatch(/^HTTP\/1\.1 200 .*connection: close.*\{"bytes":2\}$/s)
  await closed
  expect(performance.now() - started).toBeLessThan(late_ms)
})

test.each([
  ['a byte of its first line', 'P', 'OST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nxx'],
  ['half of its headers', 'POST /body HTTP/1.1\r\nHost: x\r\nConte', 'nt-Length: 2\r\n\r\nxx'],
  ['half of its body', 'POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nx', 'x'],
])(
  'a request of which %s was there at the stop is served, as the last of its connection',
  async (_what, first, rest) => {
    await listen()
    const accepted = once(app.server, 'connection') as Promise<[Socket]>
    const socket = await open(first)
    const [serverSide] = await accepted
    await expect.poll(() => serverSide.bytesRead).toBe(first.length)
    const closed = app.close()
    await expect.poll(() => app.server.listening).toBe(false)
    socket.write(rest)
    const answer = await untilClosed(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 200 .*connection: close.*\{"bytes":2\}$/s)
    expect(answer).toContain('x-request-id: ')
    await closed
  },
)

test('behind a trusted proxy a request has the address that the proxy names', async () => {
  await listen({ trusted_proxies: ['127.0.0.0/8'] })
  const headers = { 'x-forwarded-for': '6.6.6.6, 203.0.113.5, 127.0.0.9' }
  expect((await app.inject({ url: '/who', headers })).json().client_ip).toBe('203.0.113.5')
})

test('every answer keeps a browser from taking it for something else, errors too', async () => {
  await listen()
  for (const url of ['/who', '/away', '/nothing'])
    expect((await app.inject({ url })).headers, url).toMatchObject({ 'x-content-type-options': 'nosniff' })
})

test('one line tells that a proxy is not trusted, and how many requests came through it', async () => {
  const lines: string[] = []
  const heard = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) })
  await listen({ logger: heard, trusted_proxies: ['10.0.0.7'] })
  const headers = { 'x-forwarded-for': '203.0.113.5' }
  for (const remoteAddress of ['127.0.0.1', '::ffff:127.0.0.1', '10.0.0.7'])
    await app.inject({ url: '/who', headers, remoteAddress })
  await app.inject('/who')
  await app.close()
  const last = { proxy: '127.0.0.1', setting: 'TRIBUTARY_TRUSTED_PROXIES' }
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ count: 2, last }])
})

test('every 503 has a Retry-After, 5 seconds unless its error names another time', async () => {
  await listen()
  const answers = await Promise.all(['/away', '/away?retry_after=17'].map((url) => app.inject(url)))
  expect(answers.map(({ statusCode, headers }) => [statusCode, headers['retry-after']])).toEqual([
    [503, '5'],
    [503, '17'],
  ])
})

test('where there is no route no method and no body decides the answer', async () => {
  await listen()
  const query = await untilClosed(await open('QUERY /who HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'))
  expect(query).toMatch(/^HTTP\/1\.1 405 .*"method_not_allowed"/s)
  expect(query).toMatch(/^allow: GET/im)
  const large = await app.inject({ method: 'POST', url: '/nothing', payload: 'x'.repeat(65 * 1024) })
  expect(large.statusCode).toBe(404)
})
