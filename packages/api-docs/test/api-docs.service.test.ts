import { gunzipSync } from 'node:zlib'
import { adminApi } from '@tributary/admin-api/app'
import { reportNames } from '@tributary/contracts/reports'
import { ingestGateway } from '@tributary/ingest-gateway/app'
import { linkGateway } from '@tributary/link-gateway/app'
import { postbackGateway } from '@tributary/postback-gateway/app'
import { reportApi } from '@tributary/report-api/app'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { createHealth } from '@tributary/service-kit/service/health'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { apiDocs } from '../src/api-docs.ts'
import { operations, readDoc } from './document.ts'

const logger = pino({ level: 'silent' })

async function openDocs() {
  const app = createHttpApp({ logger })
  await app.register(apiDocs())
  return app
}

describe('the document', () => {
  it('has every route that the services have, and no other', async () => {
    const app = createHttpApp({ logger })
    const routes: string[] = []
    app.addHook('onRoute', ({ method, url }) => {
      for (const one of [method].flat()) if (one !== 'OPTIONS' && one !== 'HEAD') routes.push(`${one} ${url}`)
    })
    const registry = new Registry()
    // No request is made, so nothing of the engines is asked for.
    const deps = { registry, logger, now: Date.now, admin_token: 'x'.repeat(32) } as never
    createHealth({ checks: {}, now: Date.now, registry }).routes(app)
    const gateways = [ingestGateway(deps), linkGateway(deps), postbackGateway(deps)]
    for (const plugin of [
      ...gateways,
      reportApi({ ...(deps as object), people: deps, raw: deps } as never),
      adminApi(deps),
    ])
      await app.register(plugin)
    await app.ready()
    const served = routes
      .flatMap((route) =>
        route.includes(':report') ? reportNames.map((name) => route.replace(':report', name)) : route,
      )
      .map((route) => route.replaceAll(/:(\w+)/g, '{$1}'))
    expect(operations.map(({ route }) => route).toSorted()).toEqual(served.toSorted())
  })
})

/** Every page, by its address without an anchor, with the anchors that it has and the addresses that it names. */
async function readAll() {
  const app = await openDocs()
  const seen = new Map<string, { ids: Set<string>; links: string[] }>()
  const open = ['/docs']
  for (let url = open.pop(); url !== undefined; url = open.pop()) {
    if (seen.has(url)) continue
    const { statusCode, headers, body } = await app.inject({ url })
    expect([url, statusCode]).toEqual([url, 200])
    const isPage = String(headers['content-type']).startsWith('text/html')
    const all = (shape: RegExp) => (isPage ? [...body.matchAll(shape)].map(([, text = '']) => text) : [])
    const links = all(/(?:href|src|data-search)="([^"]*)"/g).map((link) => (link.startsWith('#') ? url + link : link))
    seen.set(url, { ids: new Set(all(/ id="([^"]*)"/g)), links })
    open.push(...links.filter((link) => link.startsWith('/docs')).map((link) => link.split('#')[0]!))
  }
  return seen
}

describe('/docs', () => {
  it('leads to the guide, every rule, every example and each operation, and no link leads nowhere', async () => {
    const pages = await readAll()
    const examples = [
      'signing',
      'attribution',
      'flights',
      'cv-schema',
      'postbacks',
      'purchase-alerts',
      'raw',
      'read-records',
    ]
    const raw = ['openapi.json', 'schemas/events.accepted.v1.json', 'examples/cv-schema/puzzle-game.json']
    const parts = [
      ...examples.map((name) => `examples/${name}`),
      ...raw,
      'rules',
      'errors',
      'privacy',
      'people',
      'decisions/money',
    ]
    expect([...pages.keys()]).toEqual(expect.arrayContaining(parts.map((part) => `/docs/${part}`)))
    for (const [page, { links }] of pages)
      for (const link of links.filter((one) => one.startsWith('/docs') && one.includes('#'))) {
        const [path = '', id = ''] = link.split('#')
        expect([page, link, pages.get(path)?.ids.has(id)]).toEqual([page, link, true])
      }
    const ids = [...pages].flatMap(([url, { ids: of }]) => (url.startsWith('/docs/reference/') ? [...of] : []))
    expect(ids).toEqual(expect.arrayContaining(operations.map(({ operationId }) => operationId)))
  })

  it('loads nothing from elsewhere, and may not', async () => {
    const app = await openDocs()
    const { body, headers } = await app.inject({ url: '/docs' })
    expect(headers['content-type']).toContain('text/html')
    const loaded = [...body.matchAll(/<(?:link|script|img)[^>]*(?:src|href)="([^"]*)"/g)].map(
      ([, address = '']) => address,
    )
    expect(loaded.toSorted()).toEqual(
      ['/docs/files/', '/docs/files/', 'data:,'].map((start) => expect.stringMatching(`^${start}`)),
    )
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toMatch(/https?:|\*|unsafe/)
    expect((await app.inject({ url: '/docs/' })).body).toBe(body)
  })

  it('serves each file that a page names, to be kept for ever, compressed where that is understood', async () => {
    const app = await openDocs()
    const page = (await app.inject({ url: '/docs' })).body
    const files = [...page.matchAll(/="(\/docs\/files\/[^"]*)"/g)].map(([, file = '']) => file)
    expect(files).toHaveLength(3)
    for (const url of files) {
      const plain = await app.inject({ url })
      expect(plain.statusCode).toBe(200)
      expect(plain.headers['cache-control']).toContain('immutable')
      const zipped = await app.inject({ url, headers: { 'accept-encoding': 'gzip, br' } })
      expect(zipped.headers['content-encoding']).toBe('gzip')
      expect(gunzipSync(zipped.rawPayload).equals(plain.rawPayload)).toBe(true)
      expect(zipped.headers.etag).not.toBe(plain.headers.etag)
    }
  })

  it('is where / leads a browser, and nobody else', async () => {
    const app = await openDocs()
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8'
    const led = await app.inject({ url: '/', headers: { accept } })
    expect([led.statusCode, led.headers.location]).toEqual([302, '/docs'])
    const others = [
      { url: '/' },
      { url: '/', headers: { accept: '*/*' } },
      { url: '/', method: 'POST' as const, headers: { accept } },
    ]
    for (const other of [...others, { url: '/docs/nothing', headers: { accept } }, { url: '/docs/../package.json' }]) {
      const { statusCode, headers, body } = await app.inject(other)
      expect([statusCode, headers.allow, JSON.parse(body).error]).toEqual([404, undefined, 'not_found'])
    }
    expect((await app.inject({ url: '/docs', method: 'POST' })).statusCode).toBe(405)
  })

  it('serves the document of the repository, and says when it is still the same', async () => {
    const app = await openDocs()
    const url = '/docs/openapi.json'
    const { body, headers } = await app.inject({ url })
    expect(body).toBe(readDoc('openapi.json'))
    const again = await app.inject({ url, headers: { 'if-none-match': String(headers.etag) } })
    expect({ status: again.statusCode, body: again.body }).toEqual({ status: 304, body: '' })
    const other = await app.inject({ url, headers: { 'if-none-match': '"other"' } })
    expect(other.statusCode).toBe(200)
  })
})
