import { sdkEvent, signedHeaders } from '@tributary/testing/builders'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Gateway, openGateway } from './gateway.ts'

let gateway: Gateway
beforeEach(async () => {
  gateway = await openGateway()
})
const origin = 'https://game.example'
const words = (header: unknown) => String(header).toLowerCase().split(/, */)

describe.each(['/event', '/privacy/delete'])('%s', (url) => {
  test('lets a browser ask what it may send', async () => {
    const headers = {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-encoding,content-type,x-service-signature',
    }
    const answer = await gateway.app.inject({ method: 'OPTIONS', url, headers })
    expect([answer.statusCode, answer.body]).toEqual([204, ''])
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'POST',
      'access-control-max-age': '86400',
    })
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined()
    const { body, ...sent } = signedHeaders(gateway.tenant, '') as Record<string, string>
    for (const name of [
      ...Object.keys(sent),
      ...['content-type', 'content-encoding', 'x-service-sdk', 'x-service-platform', 'x-request-id'],
    ]) {
      expect(words(answer.headers['access-control-allow-headers'])).toContain(name)
    }
  })

  test('lets a page read the answer and its headers, errors too', async () => {
    const body = JSON.stringify({ install_uuid: 'i-1', events: [sdkEvent({ event_ts_ms: gateway.now_ms })] })
    const answers = [
      await gateway.call(url, { origin, ...signedHeaders(gateway.tenant, body) }, body),
      await gateway.call(url, { origin }, body),
      await gateway.call(url, { origin, ...signedHeaders(gateway.tenant, body) }, 'x'.repeat(2 ** 20 + 1)),
    ]
    gateway.audit.fault = new Error('no')
    const failing = body.replace('i-1', 'i-2') // a second request of `i-1` would store nothing
    answers.push(await gateway.call(url, { origin, ...signedHeaders(gateway.tenant, failing) }, failing))
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([url === '/event' ? 200 : 202, 400, 413, 503])
    for (const { headers } of answers) {
      expect(headers['access-control-allow-origin']).toBe('*')
      const exposed = words(headers['access-control-expose-headers'])
      for (const name of ['retry-after', 'x-request-id', 'x-service-quota-used', 'x-service-quota-limit']) {
        expect(exposed).toContain(name)
      }
    }
  })

  test('says nothing of it to others, and 405 names its methods', async () => {
    const plain = await gateway.call(url, {}, '')
    expect(plain.headers['access-control-allow-origin']).toBeUndefined()
    const answer = await gateway.app.inject({ method: 'GET', url })
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'OPTIONS, POST'])
  })
})

test.each(['/s2s/event', '/s2s/events/bulk'])('%s is not for browsers', async (url) => {
  const preflight = await gateway.app.inject({ method: 'OPTIONS', url, headers: { origin } })
  expect([preflight.statusCode, preflight.headers.allow]).toEqual([405, 'POST'])
  const answer = await gateway.s2s(url, '{}', { origin })
  for (const { headers } of [preflight, answer]) expect(headers['access-control-allow-origin']).toBeUndefined()
})

test('a preflight is no ingest request', async () => {
  await gateway.app.inject({ method: 'OPTIONS', url: '/event', headers: { origin } })
  expect(await gateway.registry.metrics()).not.toContain('tributary_ingest_requests_total{')
})
