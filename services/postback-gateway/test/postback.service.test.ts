import { limits } from '@tributary/contracts/limits'
import { describe, expect, it, test } from 'vitest'
import { jwsOf, openGateway, skanBody } from './gateway.ts'

const skanPaths = ['/skan-postback', '/.well-known/skadnetwork/report-attribution/']
const aakPaths = ['/aak-postback', '/.well-known/appattribution/report-attribution/']
const paths = [...skanPaths, ...aakPaths]
const bodyFor = (path: string) => (skanPaths.includes(path) ? skanBody() : jwsOf({ n: crypto.randomUUID() }))

describe('a postback', () => {
  it('is in the audit store and on the log, to the letter, when it is answered', async () => {
    const gateway = await openGateway()
    const body =
      ' {\n "version" : "4.0", "transaction-id":"t\\/1", "name":"ü€\\u2063", "app-id":10738027756123456789 }\r\n'
    const headers = { 'content-type': 'application/json; charset=UTF-8' }
    expect(await gateway.send(body, { headers })).toMatchObject({ status: 200, body: '{"ok":true}' })
    const [received, ...none] = gateway.received()
    expect(none).toEqual([])
    expect(received).toEqual({
      ...{ v: 1, protocol: 'skan', content_type: headers['content-type'], body },
      received_at_ms: gateway.clock.now_ms,
      audit_key: expect.stringMatching(/^postbacks\/skan\/2026\/06\/01\/1780315200000-test-\d+\.jsonl\.gz$/),
    })
    const { v: _, audit_key: key, ...facts } = received!
    expect(gateway.audited()).toEqual([{ key, ...facts }])
  })

  it.each(paths)('is taken at %s, where a GET tells that it is', async (url) => {
    const gateway = await openGateway()
    expect((await gateway.app.inject({ url })).json()).toEqual({ status: 'ready' })
    expect(await gateway.send(bodyFor(url), { path: url })).toMatchObject({ status: 200 })
    expect(gateway.received().map(({ protocol }) => protocol)).toEqual([skanPaths.includes(url) ? 'skan' : 'aak'])
    const { statusCode, headers } = await gateway.app.inject({ method: 'PUT', url })
    expect([statusCode, headers.allow]).toEqual([405, 'POST, GET, HEAD'])
  })

  it.each(['application/jwt', 'text/plain', 'application/json', 'not a type', undefined])(
    'is read whatever its content type says: %s',
    async (type) => {
      const gateway = await openGateway()
      const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type }
      const body = jwsOf({ 'postback-identifier': 'p' })
      expect(await gateway.send(body, { path: '/aak-postback', headers })).toMatchObject({ status: 200 })
      expect(gateway.received()).toMatchObject([{ body, content_type: type ?? '' }])
    },
  )

  it('leaves nothing that tells whose device sent it', async () => {
    const gateway = await openGateway({ trusted_proxies: ['10.0.0.1'] })
    const headers = { 'user-agent': 'CFNetwork/1 Darwin/24', 'x-forwarded-for': '203.0.113.77', cookie: 'a=b' }
    expect((await gateway.send(skanBody(), { ip: '10.0.0.1', headers })).status).toBe(200)
    const stored = JSON.stringify([gateway.received(), gateway.audited(), gateway.logLines])
    for (const trace of ['203.0.113.77', 'CFNetwork', 'a=b']) expect(stored).not.toContain(trace)
  })

  it('shares a partition with the copies and forgeries of its id', async () => {
    const gateway = await openGateway()
    const id = crypto.randomUUID()
    for (let n = 0; n < 8; n += 1) await gateway.send(skanBody({ 'transaction-id': id, n }))
    expect(new Set(gateway.records().map(({ partition, key }) => `${partition} ${key}`)).size).toBe(1)
    expect(gateway.received().map(({ body }) => JSON.parse(body).n)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  })
})

describe('a body that is refused', () => {
  test.each([
    ['no JSON', '/skan-postback', 'x', 400, 'bad_json'],
    ['no JWS', '/aak-postback', 'x', 400, 'bad_jws'],
    ['a broken JSON for AAK', '/aak-postback', '{"jws-string"', 400, 'bad_json'],
    [
      'one byte too many',
      '/skan-postback',
      `{"a":"${'x'.repeat(limits.postback_body_bytes_max - 7)}"}`,
      413,
      'body_too_large',
    ],
    ['a large JWS', '/aak-postback', `a.${'b'.repeat(limits.postback_body_bytes_max)}.c`, 413, 'body_too_large'],
  ])('leaves nothing: %s', async (_what, path, body, status, code) => {
    const gateway = await openGateway()
    expect(await gateway.send(body, { path })).toMatchObject({ status, code })
    expect([gateway.received(), gateway.audited()]).toEqual([[], []])
  })

  it('is not one of 8 KiB', async () => {
    const gateway = await openGateway()
    const body = `{"a":"${'x'.repeat(limits.postback_body_bytes_max - 8)}"}`
    expect(Buffer.byteLength(body)).toBe(8 * 1024)
    expect((await gateway.send(body)).status).toBe(200)
  })
})

describe('the limit of an address', () => {
  it('is one for both protocols and all paths, counts refused bodies too, and names the time to wait', async () => {
    const gateway = await openGateway()
    for (let n = 0; n < limits.postbacks_max; n += 1) {
      const path = paths[n % paths.length]!
      const body = n % 3 === 0 ? 'junk' : bodyFor(path)
      expect((await gateway.send(body, { path })).status).toBe(n % 3 === 0 ? 400 : 200)
    }
    gateway.clock.now_ms += 20_000
    for (const path of paths) {
      const { status, code, headers } = await gateway.send(bodyFor(path), { path })
      expect([status, code, headers['retry-after']]).toEqual([429, 'rate_limited', '40'])
    }
    expect((await gateway.send(skanBody(), { ip: '192.0.2.2' })).status).toBe(200)
    expect((await gateway.app.inject({ url: '/skan-postback', remoteAddress: '192.0.2.1' })).statusCode).toBe(200)
    gateway.clock.now_ms += 40_000
    expect((await gateway.send(skanBody())).status).toBe(200)
  })

  it('is one for a whole /64, and reads the address behind trusted proxies', async () => {
    const gateway = await openGateway({ trusted_proxies: ['10.0.0.1'] })
    const from = (address: string) => ({ ip: '10.0.0.1', headers: { 'x-forwarded-for': `1.1.1.1, ${address}` } })
    for (let n = 0; n < limits.postbacks_max; n += 1) await gateway.send('junk', from(`2001:db8::${n.toString(16)}`))
    expect((await gateway.send('junk', from('2001:db8::ffff:1'))).status).toBe(429)
    expect((await gateway.send('junk', from('2001:db8:0:1::1'))).status).toBe(400)
  })
})

describe('the same bytes again', () => {
  it('are answered 200 and not stored, at every path of their protocol and from every address', async () => {
    const gateway = await openGateway()
    const body = skanBody()
    const sent = skanPaths.flatMap((path) => ['192.0.2.1', '192.0.2.2'].map((ip) => gateway.send(body, { path, ip })))
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect([gateway.received().length, gateway.audited().length]).toEqual([1, 1])
    await gateway.send(`${body} `)
    expect(gateway.received()).toHaveLength(2)
    expect(await gateway.count('tributary_postbacks_total')).toMatchObject([
      { labels: { outcome: 'stored' }, value: 2 },
      { labels: { outcome: 'repeated' }, value: 3 },
    ])
  })

  it('are stored for either protocol', async () => {
    const gateway = await openGateway()
    const body = JSON.stringify({ 'jws-string': jwsOf({ n: crypto.randomUUID() }) })
    for (const path of [...paths, ...paths]) expect((await gateway.send(body, { path })).status).toBe(200)
    expect(
      gateway
        .received()
        .map(({ protocol }) => protocol)
        .toSorted(),
    ).toEqual(['aak', 'skan'])
  })

  it.each(['audit', 'log'] as const)('are stored when the first try failed: the %s was away', async (what) => {
    const gateway = await openGateway()
    const body = skanBody()
    gateway[what].fault = new Error('away')
    expect(await gateway.send(body)).toMatchObject({
      ...{ status: 503, code: what === 'audit' ? 'audit_write_failed' : 'unavailable' },
      headers: { 'retry-after': '1' },
    })
    expect(gateway.received()).toEqual([])
    gateway[what].fault = null
    expect((await gateway.send(body)).status).toBe(200)
    expect(gateway.received().map((one) => one.body)).toEqual([body])
  })

  it('wait for the request that stores them, and store them themselves when it fails', async () => {
    const gateway = await openGateway()
    const body = skanBody()
    const { promise, resolve: release } = Promise.withResolvers<void>()
    gateway.log.until = promise
    gateway.log.fault = new Error('away')
    const first = gateway.send(body)
    await expect.poll(() => gateway.audited().length).toBe(1)
    const others = [gateway.send(body), gateway.send(body)]
    release()
    expect((await first).status).toBe(503)
    gateway.log.fault = null
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200])
    expect(gateway.received()).toHaveLength(1)
  })

  it('are stored while the counters are away: nothing is limited then, and nothing lost', async () => {
    const gateway = await openGateway()
    const body = skanBody()
    gateway.keyValue.fault = new Error('away')
    for (const _ of [1, 2]) expect((await gateway.send(body)).status).toBe(200)
    expect(gateway.received()).toHaveLength(2)
    expect((await gateway.count('tributary_postback_guards_missed_total'))[0]?.value).toBeGreaterThan(0)
  })
})
