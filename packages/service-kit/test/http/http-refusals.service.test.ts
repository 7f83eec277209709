import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

let app: FastifyInstance
/** The bytes that a test has sent so far. */
let sent_bytes: number
beforeEach(async () => {
  app = createHttpApp({ logger: pino({ level: 'silent' }) })
  app.post('/body', async (request) => ({ bytes: (request.body as Buffer | undefined)?.length ?? 0 }))
  app.get('/things/:name', async () => ({ ok: true }))
  sent_bytes = 0
  app.route({
    method: ['GET', 'POST'],
    url: '/slow',
    // Answers only after the server has parsed what the test sent behind the request.
    async handler({ socket }) {
      await nextTurn()
      await vi.waitFor(() => expect(socket.bytesRead).toBe(sent_bytes), { timeout: 180_000, interval: 1 })
      return { ok: true }
    },
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
})
afterEach(() => app.close())

function open() {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  let answers = ''
  socket.setEncoding('latin1').on('data', (chunk) => {
    answers += chunk
  })
  return {
    answers: () => answers,
    closed: once(socket, 'close'),
    send(text: string) {
      sent_bytes += text.length
      socket.write(text, 'latin1')
    },
  }
}

/** The answers to raw bytes until the server closes. */
async function raw(text: string): Promise<string> {
  const { answers, closed, send } = open()
  send(text)
  await closed
  return answers()
}

const coded = (answer: string) => {
  expect(answer.toLowerCase()).toContain('\r\nx-request-id: ')
  const { error, request_id } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))
  expect(answer.toLowerCase()).toContain(`x-request-id: ${request_id}`)
  return `${answer.slice(9, 12)} ${error}`
}

test('a path that no route can read, a broken escape, is a coded 404 with its request id', async () => {
  const answer = await raw('GET /things/%E2%82 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  expect(coded(answer)).toBe('404 not_found')
})

test('a parameter may be as long as an address', async () => {
  const answer = await raw(`GET /things/${'x'.repeat(15_000)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
})

test.each([
  ['twice', 'Host: x\r\nHost: y\r\n'],
  ['twice, in other letters', 'hOST: x\r\nHost: x\r\n'],
])('a Host that comes %s is a coded 400', async (_how, hosts) => {
  expect(coded(await raw(`GET / HTTP/1.1\r\n${hosts}Connection: close\r\n\r\n`))).toBe('400 bad_json')
  expect(coded(await raw(`GET / HTTP/1.0\r\n${hosts}\r\n`))).toBe('400 bad_json')
})

test('HTTP/1.1 without a Host is a coded 400, HTTP/1.0 needs none', async () => {
  expect(coded(await raw('GET /things/a HTTP/1.1\r\n\r\n'))).toBe('400 bad_json')
  expect(await raw('GET /things/a HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /)
})

/** The status of each answer. */
const answered = (all: string) => [...all.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))

describe('requests before bytes that are none', () => {
  const garbage = '\x00\x01 this is no HTTP\r\n\r\n'
  const get = 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n'
  const post = 'POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nxx'

  test.each([
    ['one', get, [200, 400]],
    ['one with a body', post, [200, 400]],
    ['several', get + post + get, [200, 200, 200, 400]],
    ['one that says it is the last', get.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'), [200]],
    ['none', '', [400]],
  ])('are answered before the refusal: %s', async (_what, requests, expected) => {
    const all = await raw(requests + garbage + garbage)
    expect(answered(all)).toEqual(expected)
  })

  test('are answered, but not the one whose body breaks off in them', async () => {
    const broken = 'POST /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'
    expect(answered(await raw(get + broken + garbage))).toEqual([200, 400])
    expect(answered(await raw(broken))).toEqual([400])
  })

  test('are answered when the bytes come later', async () => {
    const { answers, closed, send } = open()
    send(get)
    await vi.waitFor(() => expect(answers()).toContain('true'), { timeout: 180_000 })
    send(garbage)
    await closed
    expect(answered(answers())).toEqual([200, 400])
  })
})

test('an expectation that is unknown changes nothing', async () => {
  const head = 'POST /body HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n'
  expect(await raw(`${head}Expect: 200-maybe\r\n\r\nxx`)).toMatch(/^HTTP\/1\.1 200 .*\{"bytes":2\}$/s)
  expect(await raw(`${head}Expect: 100-continue\r\n\r\nxx`)).toMatch(/^HTTP\/1\.1 100 .*\{"bytes":2\}$/s)
})
