import { once } from 'node:events'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type AdminFence, fenceAdmin } from '@tributary/service-kit/http/admin-fence'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

let app: FastifyInstance
let logged: string[]
beforeEach(() => {
  logged = []
})
afterEach(() => app.close())

async function listen(given: Partial<AdminFence> = {}) {
  const logger = pino({ level: 'warn' }, { write: (line: string) => logged.push(line) })
  const trusted_proxies = given.trusted_proxies ?? []
  app = createHttpApp({ logger, trusted_proxies })
  fenceAdmin(app, { networks: ['127.0.0.0/8', '::1'], hosts: [], trusted_proxies, logger, ...given })
  for (const path of ['/metrics', '/admin/', '/admin/api/v1/companies', '/health', '/api/v1/installs/:id'])
    app.get(path, async () => ({ path }))
  await app.listen({ port: 0, host: '127.0.0.1' })
}

/** The path goes out letter for letter. */
async function ask(path: string, headers: Record<string, string> = {}, method = 'GET') {
  const { port } = app.server.address() as AddressInfo
  const asked = request({ host: '127.0.0.1', port, path, method, headers }).end()
  const [answer] = await once(asked, 'response')
  const body = await text(answer)
  return { status: answer.statusCode as number, error: JSON.parse(body).error as string | undefined }
}
const passes = { status: 200, error: undefined }
const refused = { status: 404, error: 'not_found' }
const fenced = ['/metrics', '/admin/', '/admin/api/v1/companies']
/** From behind a proxy, which `trusted_proxies` has to name. */
const from = (ip: string) => ({ 'x-forwarded-for': ip })
const behindProxy = { trusted_proxies: ['127.0.0.1'], networks: ['192.0.2.0/24', '2001:db8::/32'] }

describe('a client', () => {
  test('of the same machine passes', async () => {
    await listen()
    for (const path of fenced) expect(await ask(path)).toEqual(passes)
  })

  test('of the networks passes, by its address behind trusted proxies; another is told that nothing is there', async () => {
    await listen(behindProxy)
    for (const path of fenced) {
      expect(await ask(path, from('192.0.2.7'))).toEqual(passes)
      expect(await ask(path, from('2001:db8::7'))).toEqual(passes)
      for (const ip of ['192.0.3.7', '127.0.0.1', '::1', 'unknown', '192.0.2.7, 198.51.100.1'])
        expect(await ask(path, from(ip)), ip).toEqual(refused)
      expect(await ask(path, from('192.0.3.7'), 'DELETE')).toEqual(refused) // a 405 would tell the routes
    }
    expect(await ask('/health', from('198.51.100.1'))).toEqual(passes)
    expect(await ask('/api/v1/installs/i', from('198.51.100.1'))).toEqual(passes)
  })

  test('behind a proxy that nobody named is a stranger, by whatever header it shows itself', async () => {
    await listen()
    for (const path of fenced) expect(await ask(path, from('198.51.100.1'))).toEqual(refused)
    const shown: Record<string, string>[] = [
      { forwarded: 'for=198.51.100.1' },
      { 'x-real-ip': '198.51.100.1' },
      { via: '1.1 proxy' },
    ]
    for (const headers of shown) expect(await ask('/metrics', { host: 'localhost', ...headers })).toEqual(refused)
    expect(await ask('/health', from('198.51.100.1'))).toEqual(passes)
  })

  test('behind a proxy that does not name its client is a stranger', async () => {
    await listen({ trusted_proxies: ['127.0.0.1'] })
    expect(await ask('/metrics', { 'x-real-ip': '127.0.0.1' })).toEqual(refused)
    expect(await ask('/metrics')).toEqual(passes)
  })

  test.each([
    ...['/%6detrics', '/%6Detrics', '/metric%73', '/metrics?', '/metrics?x=/health', '/metrics#', '/metrics#/health'],
    ...[
      '//metrics',
      '/./metrics',
      '/health/../metrics',
      '/METRICS',
      '/metrics.',
      '/metrics..',
      '/metrics/',
      '/metrics;a',
    ],
    ...['/metrics%00', '/metrics%20', '/%2fmetrics', '/%2emetrics', '/x%2f..%2fmetrics', '/\\metrics', '/metrics%3f'],
    ...['/admin', '/%61dmin/', '/admin/./', '//admin/api/v1/companies', '/admin/%61pi/v1/companies', '/ADMIN/'],
    ...[
      '/admin/api/v1/compan%69es',
      '/admin//api/v1/companies',
      '/api/v1/../../admin/',
      '/admin%2f',
      '/admin%2fapi%2fv1',
    ],
    ...['http://127.0.0.1/metrics', 'http://127.0.0.1/health/../metrics', '*'],
  ])('that is a stranger gets nothing by spelling a path %s', async (path) => {
    await listen(behindProxy)
    expect(await ask(path, from('198.51.100.1'))).toEqual(refused)
  })
})

describe('a page of another site', () => {
  test.each([
    ...['localhost', 'localhost:8080', 'LOCALHOST', '127.0.0.1:1', '127.9.9.9', '[::1]:8080', 'tributary.example.com'],
    ...['Tributary.Example.com:443'],
  ])('is none when it calls the process by its name: Host %s', async (host) => {
    await listen({ hosts: ['tributary.example.com'] })
    for (const path of fenced) expect(await ask(path, { host })).toEqual(passes)
    for (const origin of [`http://${host}`, `https://${host}`])
      expect(await ask('/metrics', { host, origin })).toEqual(passes)
  })

  test.each([
    ...['evil.example', 'localhost.evil.example', 'tributary.example.com.evil.example', '127.0.0.1.evil.example'],
    ...[
      'evil.example@127.0.0.1',
      '127.0.0.1#evil',
      'localhost/',
      'localhost:99999',
      '192.0.2.1',
      '[2001:db8::1]',
      '0.0.0.0',
    ],
  ])('is refused by its Host %j, and by its Origin', async (host) => {
    await listen({ hosts: ['tributary.example.com'] })
    for (const path of fenced) {
      expect(await ask(path, { host })).toEqual(refused)
      expect(await ask(path, { origin: `http://${host}` })).toEqual(refused)
    }
    expect(await ask('/health', { host })).toEqual(passes)
  })

  test.each(['null', '', 'file://', 'localhost', 'javascript:localhost', 'http://localhost, http://evil.example'])(
    'is refused by an Origin that names no site of ours: %j',
    async (origin) => {
      await listen()
      expect(await ask('/metrics', { origin })).toEqual(refused)
    },
  )

  test('leaves one line with a count in the log, however often it tries', async () => {
    await listen()
    for (let times = 0; times < 50; times += 1) await ask('/metrics', { host: 'evil.example' })
    await app.close()
    expect(logged.map((line) => JSON.parse(line))).toMatchObject([{ count: 50, last: { host: 'evil.example' } }])
  })
})

test.each([
  ['proxy', '127.0.0.1', 'TRIBUTARY_TRUSTED_PROXIES', {}, from('198.51.100.1')],
  ['network', '198.51.100.1', 'TRIBUTARY_ADMIN_NETWORKS', behindProxy, from('198.51.100.1')],
  ['host', 'evil.example', 'TRIBUTARY_ADMIN_HOSTS', {}, { host: 'evil.example' }],
  ['origin', 'http://evil.example', 'TRIBUTARY_ADMIN_HOSTS', {}, { origin: 'http://evil.example' }],
])('the log names what was refused: %s %s, and %s', async (what, value, setting, given, headers) => {
  await listen(given)
  expect(await ask('/metrics', headers)).toEqual(refused)
  await app.close()
  const lines = logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg.includes('admin paths'))
  expect(lines.map(({ last }) => last)).toMatchObject([{ refused: what, value, setting }])
})
