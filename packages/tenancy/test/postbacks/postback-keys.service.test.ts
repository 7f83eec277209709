import { generateKeyPairSync } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { day_ms, limits } from '@tributary/contracts/limits'
import { settings } from '@tributary/service-kit/settings/settings'
import { createAppleTwin } from '@tributary/testing/postback/apple-twin'
import { expect, onTestFinished, test } from 'vitest'
import { knownPostbackKeys } from '../../src/postbacks/postback-keys.ts'

const apple = createAppleTwin()
const noon = Date.UTC(2026, 5, 10, 12)

const key = (kid: string) => ({
  ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }),
  ...{ kid, alg: 'ES256', use: 'sig' },
})

/** A host of a key set, and the keys of a process that reads it. */
async function makeHost(answer: RequestListener) {
  let requests = 0
  let at_ms = noon
  const server = createServer((request, reply) => {
    requests += 1
    answer(request, reply)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const jwks_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`
  const keys = knownPostbackKeys({ jwks_url, now: () => at_ms, pinned: apple.keys })
  return {
    kids: () => [...keys.current().aak.keys()].filter((kid) => !apple.keys.aak.has(kid)),
    requests: () => requests,
    async refreshAfter(ms: number) {
      at_ms += ms
      await keys.refresh()
    },
  }
}

test('a key set holds for an hour; while its host is away the last one holds on, and is fetched again soon', async () => {
  let set: object | null = { keys: [key('a')] }
  const host = await makeHost((_request, reply) => {
    reply.statusCode = set === null ? 503 : 200
    reply.end(JSON.stringify(set))
  })
  await host.refreshAfter(0)
  expect(host.kids()).toEqual(['a'])
  set = { keys: [key('b')] }
  await host.refreshAfter(limits.postback_keys_fresh_ms - 1)
  expect([host.kids(), host.requests()]).toEqual([['a'], 1])
  set = null
  await host.refreshAfter(1)
  expect([host.kids(), host.requests()]).toEqual([['a'], 2])
  set = { keys: [key('b')] }
  await host.refreshAfter(1)
  expect([host.kids(), host.requests()]).toEqual([['b'], 3])
})

test('a clock that is set back a day has the key set fetched again, and not only when it has caught up', async () => {
  const host = await makeHost((_request, reply) => void reply.end(JSON.stringify({ keys: [key('a')] })))
  await host.refreshAfter(0)
  await host.refreshAfter(-day_ms)
  expect(host.requests()).toBe(2)
  await host.refreshAfter(1)
  expect(host.requests()).toBe(2)
})

test.each<[string, RequestListener]>([
  ['redirects elsewhere', (_request, reply) => reply.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
  ['is no JSON', (_request, reply) => reply.end('<html>')],
  ['is no key set', (_request, reply) => reply.end('[]')],
  ['never ends', (_request, reply) => void reply.write('"'.padEnd(limits.postback_keys_bytes_max + 1, 'x'))],
])('an answer that %s leaves the keys of Apple', async (_name, answer) => {
  const host = await makeHost(answer)
  await host.refreshAfter(0)
  expect(host.kids()).toEqual([])
})

test('the address of a key set is https, or on this machine', () => {
  const { schema } = settings.TRIBUTARY_AAK_JWKS_URL
  const accepts = (url: string) => schema.safeParse(url).success
  expect(
    ['https://keys.example.com/a', 'http://127.0.0.1:8/a', 'http://[::1]/', 'http://localhost/'].filter(accepts),
  ).toHaveLength(4)
  const others = ['http://keys.example.com', 'http://127.0.0.1.example.com', 'file:///etc/x', 'keys']
  // `fetch` takes no address with a password, and says it in its error.
  expect([...others, 'https://user:password@keys.example.com/a'].filter(accepts)).toEqual([])
})
