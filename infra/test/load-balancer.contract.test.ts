import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { rowRoutes } from '@tributary/contracts/admin/rows/row-routes'
import type { Route } from '@tributary/contracts/route'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { beforeEach, expect, it, vi } from 'vitest'
import { example, find } from './helm/find-objects.ts'
import { render } from './helm/render-chart.ts'
import { checkConfig, installHaproxy, spawnLoadBalancer } from './load-balancer.ts'

const openapi = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'openapi.json'), 'utf8')
const documented = Object.keys((JSON.parse(openapi) as { paths: object }).paths).map((path) =>
  path.replaceAll(/\{\w+\}/g, 'some-id'),
)
const prefixes = [
  ['/api/v1/costs', 'ingest-gateway'],
  ['/api/', 'report-api'],
  ['/docs', 'admin-api'],
  ['/l/', 'link-gateway'],
  ['/skan-postback', 'postback-gateway'],
  ['/aak-postback', 'postback-gateway'],
  ['/.well-known/', 'postback-gateway'],
  ['/store/', 'postback-gateway'],
] as const
const isInside = (path: string) => path === '/metrics' || path.startsWith('/admin/')
const names = ['ingest-gateway', 'link-gateway', 'postback-gateway', 'report-api', 'admin-api']

/** HAProxy in front of servers that answer each request with their name. */
async function open() {
  await installHaproxy()
  const dir = mkdtempSync(join(tmpdir(), 'tributary-balancer-'))
  const servers = names.map((name) =>
    createServer(({ headers, url = '', socket }, response) => {
      if (url.endsWith('?broken')) return socket.destroy()
      response.setHeader('x-request-id', headers['x-request-id'] ?? 'none')
      return response.end(name)
    }).listen(0, '127.0.0.1'),
  )
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const address = (server: (typeof servers)[number]) => `127.0.0.1:${(server.address() as AddressInfo).port}`
  const replicas = Object.fromEntries(names.map((name, index) => [name, [address(servers[index]!)]]))
  const { child, ...urls } = await spawnLoadBalancer(dir, replicas)
  const exited = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGKILL')
    await exited
    for (const server of servers) server.close()
    rmSync(dir, { recursive: true, force: true })
  }
  try {
    await untilReady(urls.inside_url)
  } catch (error) {
    await stop()
    throw error
  }
  return { ...urls, dir, stop }
}

/** A server that was too busy for its checks, as they all are while this process renders a chart, comes back with the next one. */
const untilReady = (url: string) =>
  vi.waitFor(
    async () => {
      const { body } = await ask(url, '/metrics')
      for (const name of names) expect(body).toContain(`haproxy_backend_active_servers{proxy="${name}"} 1`)
    },
    { timeout: 180_000, interval: 50 },
  )

/** The path goes out letter for letter. */
async function send(url: string, path: string, headers: Record<string, string | string[]> = {}) {
  const { hostname, port } = new URL(url)
  const sent = request({ hostname, port, path, agent: false, headers: { host: '127.0.0.1', ...headers } }).end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: answer.statusCode!, headers: answer.headers, body: await text(answer) }
}

async function ask(url: string, path: string) {
  const { status, body } = await send(url, path)
  return { status, body }
}

await describeWith('load balancer', open, ({ url, operators_url, inside_url, dir }) => {
  beforeEach(() => untilReady(inside_url), 180_000)

  it('understands its file as it is', () => checkConfig())

  it.each(['small', 'cloud'])(
    'understands the file that the Helm chart makes of it for the values %s',
    async (name) => {
      const file = join(dir, `${name}.cfg`)
      const map = find(render(example(name)), 'ConfigMap', 'load-balancer')
      writeFileSync(file, map.data?.['haproxy.cfg'] ?? '')
      await checkConfig(file)
    },
  )

  it('counts ready replicas by the metric of the alerts and dashboards', () => untilReady(inside_url))

  it('forwards each documented public route to its service, and no other path of the documentation', async () => {
    for (const path of [
      ...documented,
      '/docs',
      '/docs/',
      '/docs/openapi.json',
      '/docs/files/site.0a1b2c.js',
      '/docs/examples/cv-schema',
    ]) {
      const [, service = 'ingest-gateway'] = prefixes.find(([prefix]) => path.startsWith(prefix)) ?? []
      const answer = await ask(url, `${path}?a=b`)
      if (isInside(path)) expect([path, answer.status, JSON.parse(answer.body).error]).toEqual([path, 404, 'not_found'])
      else expect([path, answer]).toEqual([path, { status: 200, body: service }])
    }
  })

  const everywhere = [
    ...['/metrics', '/%6detrics', '/metrics/', '//metrics', '/./metrics', '/event/../metrics', '/METRICS', '/metrics.'],
    ...['/event/', '//event', '/event%20', '/event;a=b', '/Event', '/event.', '/event%00', '/s2s/../event'],
    ...['/api/v1/installs/a/b', '/api/v1/installs/', '/api/v1/../../metrics', '/api/v1/reportsx', '/event%2f'],
    ...['/skan-postback/', '/.well-known/skadnetwork/report-attribution', '/.well-known/appattribution/'],
    ...['/l/', '/l', '/l/a/b', '/l/../metrics', '/L/a', '/l%2f%2e%2e%2fmetrics'],
    ...[
      '/docs/../metrics',
      '/docs/..%2fmetrics',
      '/docs/a/../../metrics',
      '/docs//',
      '/docs/.git',
      '/',
      '*',
      '/debug',
      '/.well-known/x',
      '/xadmin/',
    ],
    ...['http://127.0.0.1/metrics', 'http://127.0.0.1/event/../metrics'],
  ]
  const admin = [
    '/admin',
    '/admin/',
    '/admin/api/v1/companies',
    '/admin/api/v1/../../../metrics',
    '/admin/..%2fmetrics',
  ]
  const spelledAdmin = ['/%61dmin/', '//admin/', '/./admin/', '/ADMIN/', '/event/../admin/', '/docs/../admin/']

  it.each([...everywhere, ...admin, ...spelledAdmin])('answers 404 itself to %s', async (path) => {
    const answer = await ask(url, path)
    expect([answer.status, answer.body.startsWith('{') && JSON.parse(answer.body).error]).toEqual([404, 'not_found'])
  })

  it.each(['', '/', '/a/b', '/x/../../metrics', '/events%2fx'])(
    'answers unknown_report to %s under reports',
    async (path) => {
      for (const base of [url, operators_url]) {
        const answer = await ask(base, `/api/v1/reports${path}`)
        expect([answer.status, JSON.parse(answer.body).error]).toEqual([404, 'unknown_report'])
      }
    },
  )

  it('takes percent-encoded letters of a path for the letters', async () => {
    const spelled = {
      '/%65vent': 'ingest-gateway',
      '/%6c/a': 'link-gateway',
      '/api/v1/re%70orts/%65vents': 'report-api',
    }
    for (const [path, service] of Object.entries(spelled))
      expect(await ask(url, path)).toEqual({ status: 200, body: service })
  })

  it('gives a request the id of its client in each answer, its own ones too, and else a new one', async () => {
    const id = 'a"b\\c/{%d}'
    for (const [path, status] of [
      ['/event', 200],
      ['/event?broken', 502],
      ['/nothing', 404],
      ['/api/v1/reports', 404],
    ] as const) {
      const given = await send(url, path, { 'x-request-id': id })
      expect([path, given.status, given.headers['x-request-id']]).toEqual([path, status, id])
      if (status !== 200) expect(JSON.parse(given.body).request_id).toBe(id)
      for (const wrong of [undefined, 'a b', 'x'.repeat(129), ['a', 'b']]) {
        const made = await send(url, path, wrong === undefined ? {} : { 'x-request-id': wrong })
        expect(made.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/)
        if (status !== 200) expect(JSON.parse(made.body).request_id).toBe(made.headers['x-request-id'])
      }
    }
  })

  it('says when to come back after a failure', async () => {
    const { status, headers, body } = await send(url, '/event?broken')
    expect([status, headers['retry-after'], JSON.parse(body).error]).toEqual([502, '1', 'unavailable'])
  })

  it('forwards reports and rows for people from the port of operators to report-api, and the rest to admin-api', async () => {
    const rows = new Set(Object.values<Route>(rowRoutes).map(({ path }) => path.replaceAll(/:\w+/g, 'some-id')))
    for (const path of documented.filter((one) => one.startsWith('/admin/')))
      expect([path, (await ask(operators_url, path)).body]).toEqual([path, rows.has(path) ? 'report-api' : 'admin-api'])
    expect((await ask(operators_url, '/admin/api/v1/%61pps/a%20b/reports/x')).body).toBe('report-api')
    expect((await ask(operators_url, '/admin/api/v1/apps/a/reports/x/y')).body).toBe('admin-api')
  })

  it('forwards the admin API to operators on their own port, and no metrics', async () => {
    for (const path of admin) expect(await ask(operators_url, path)).toEqual({ status: 200, body: 'admin-api' })
    for (const path of [...everywhere, ...spelledAdmin]) expect((await ask(operators_url, path)).status, path).toBe(404)
    expect(await ask(operators_url, '/event')).toEqual({ status: 200, body: 'ingest-gateway' })
  })
})
