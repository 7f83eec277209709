import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { installPartition } from '@tributary/broker/partition'
import { ErasureRequest } from '@tributary/contracts/erasure'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { sdkEvent, signedHeaders } from '@tributary/testing/builders'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Gateway, openGateway } from '../gateway.ts'

const file = join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'schemas', 'erasures.requested.v1.json')
const isDocumented = new Ajv2020({ strict: true }).compile(JSON.parse(readFileSync(file, 'utf8')))

let gateway: Gateway
beforeEach(async () => {
  gateway = await openGateway()
})

const ask = (body: Buffer | string, headers: Record<string, string> = {}, as = gateway.tenant) =>
  gateway.call('/privacy/delete', { ...signedHeaders(as, body), ...headers }, body)
const erase = (install_uuid: string, as = gateway.tenant) => ask(JSON.stringify({ install_uuid }), {}, as)
/** A gateway that believes `X-Forwarded-For`. */
async function behindProxy() {
  gateway = await openGateway({}, { trusted_proxies: ['127.0.0.1'] })
  const from = (n: number) => `192.0.2.${n}`
  return {
    from,
    send: (install_uuid: string, address: string) =>
      ask(JSON.stringify({ install_uuid }), { 'x-forwarded-for': address }),
    sendEvents: (...install_uuids: string[]) => {
      const events = install_uuids.map((install_uuid) => sdkEvent({ install_uuid, event_ts_ms: gateway.now_ms }))
      return gateway.event(JSON.stringify({ events }))
    },
  }
}
const erasures = () =>
  gateway.recordsOf(topics.erasuresRequested.name).map(({ value }) => JSON.parse(value.toString()) as ErasureRequest)

describe('POST /privacy/delete', () => {
  test('answers 202 with the request in the audit store and on its topic, as documented', async () => {
    const answer = await erase('i-1')
    expect([answer.statusCode, answer.json()]).toEqual([202, { ok: true, queued: true }])
    const { app_id, company_id } = gateway.tenant.app
    const requested_at_ms = gateway.now_ms
    const audit_key = `privacy/2026-06-01/i-1~${requested_at_ms}.json`
    const request = { v: 1, company_id, app_id, install_uuid: 'i-1', requested_at_ms }
    expect(erasures()).toEqual([{ ...request, audit_key }])
    expect(erasures().every((one) => isDocumented(one) && ErasureRequest.safeParse(one).success)).toBe(true)
    expect(JSON.parse(gateway.audit.objects.get(`${app_id}/${audit_key}`)?.toString() ?? '')).toEqual(request)
  })

  test('lies in the partition that the events of the install are in', async () => {
    for (let n = 0; n < 20; n += 1) await erase(`i-${n}`)
    for (const record of gateway.recordsOf(topics.erasuresRequested.name)) {
      const { app_id, install_uuid } = JSON.parse(record.value.toString()) as ErasureRequest
      expect(record.partition).toBe(installPartition(app_id, install_uuid, 4))
    }
    expect(topics.erasuresRequested.partitions).toBe(topics.eventsAccepted.partitions)
  })

  test('400 requests for 3 installs, at once and one after another, store 3', async () => {
    const atOnce = await Promise.all(Array.from({ length: 200 }, (_, n) => erase(`i-${n % 3}`)))
    for (let n = 0; n < 200; n += 1) {
      gateway.pass(1)
      atOnce.push(await erase(`i-${n % 3}`))
    }
    expect(new Set(atOnce.map((answer) => `${answer.statusCode} ${answer.body}`))).toEqual(
      new Set(['202 {"ok":true,"queued":true}']),
    )
    expect([gateway.audit.objects.size, erasures().length]).toEqual([3, 3])
  })

  test('takes 100 new requests of an app in a minute, and says when the next one fits; queued ones are none', async () => {
    for (let n = 0; n < 100; n += 1) expect((await erase(`i-${n}`)).statusCode).toBe(202)
    const refused = await erase('i-100')
    expect([refused.statusCode, refused.json().error, refused.headers['retry-after']]).toEqual([
      429,
      'rate_limited',
      '60',
    ])
    expect((await erase('i-7')).statusCode).toBe(202)
    expect((await erase('i-100', gateway.other)).statusCode).toBe(202)
    expect(erasures()).toHaveLength(101)
  })

  test('leaves requests of others room when one address uses up those of the app', async () => {
    const { send, from } = await behindProxy()
    for (let n = 0; n < 100; n += 1) await send(`made-up-${n}`, from(1))
    expect((await send('made-up-100', from(1))).statusCode).toBe(429)
    for (let n = 0; n < 10; n += 1) expect((await send(`other-${n}`, from(2))).statusCode).toBe(202)
    expect((await send('other-10', from(2))).statusCode).toBe(429)
  })

  test('takes a request for an install that sent events when made-up installs of many addresses use up the rest', async () => {
    const { send, sendEvents, from } = await behindProxy()
    await sendEvents('real-1', 'real-2')
    const statuses = new Map<number, number>()
    for (let n = 0; n < 300; n += 1) {
      const { statusCode } = await send(`made-up-${n}`, from(n % 50))
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
    }
    expect(statuses).toEqual(
      new Map([
        [202, 150],
        [429, 150],
      ]),
    )
    expect((await send('real-1', from(60))).statusCode).toBe(202)
    expect((await send('real-2', from(61))).statusCode).toBe(202)
    expect((await send('made-up', from(62))).statusCode).toBe(429)
  })

  test('an IPv6 client is its /64', async () => {
    const { send } = await behindProxy()
    for (let n = 0; n < 100; n += 1) await send(`made-up-${n}`, '192.0.2.1')
    for (let n = 0; n < 10; n += 1) expect((await send(`six-${n}`, `2001:db8::${n + 1}`)).statusCode).toBe(202)
    expect((await send('six-10', '2001:db8::ff')).statusCode).toBe(429)
    expect((await send('six-11', '2001:db8:0:1::1')).statusCode).toBe(202)
  })

  test('is never taken for queued when storing it failed, nor while the counters are away', async () => {
    gateway.log.fault = new Error('no')
    expect((await erase('i-1')).statusCode).toBe(503)
    gateway.log.fault = null
    gateway.keyValue.fault = new Error('away')
    expect((await erase('i-1')).statusCode).toBe(202)
    expect((await erase('i-1')).statusCode).toBe(202)
    expect(erasures()).toHaveLength(2)
  })

  test('keeps the same install of two apps apart', async () => {
    await erase('i-1')
    await erase('i-1', gateway.other)
    expect(gateway.audit.objects.size).toBe(2)
    expect(new Set(erasures().map(({ app_id }) => app_id)).size).toBe(2)
  })

  test('keeps no more of the request than the install: the object outlives the erasure', async () => {
    const body = JSON.stringify({ install_uuid: 'i-1', email: 'someone@example.com' })
    await ask(body, { 'user-agent': 'agent-of-someone', 'x-service-sdk': 'sdk-of-someone' })
    const stored = [...gateway.audit.objects.values()].join() + JSON.stringify(erasures())
    expect(stored).not.toMatch(/someone|127\.0\.0\.1/)
  })

  test('takes gzip, and asks no quota', async () => {
    gateway.tenant.company.monthly_quota = 0
    const body = gzipSync(JSON.stringify({ install_uuid: 'i-1' }))
    expect((await ask(body, { 'content-encoding': 'gzip' })).statusCode).toBe(202)
  })

  test('is refused when the audit write or the log fails, and is whole when asked for again', async () => {
    gateway.audit.fault = new Error('no')
    const noAudit = await erase('i-1')
    expect([noAudit.statusCode, noAudit.json().error]).toEqual([503, 'audit_write_failed'])
    expect(erasures()).toEqual([])
    gateway.audit.fault = null
    gateway.log.fault = new Error('no')
    const noLog = await erase('i-1')
    expect([noLog.statusCode, noLog.json().error]).toEqual([503, 'unavailable'])
    expect([noAudit.headers['retry-after'], noLog.headers['retry-after']]).toEqual(['1', '1'])
    expect([gateway.audit.objects.size, erasures().length]).toEqual([1, 0])
    gateway.log.fault = null
    expect((await erase('i-1')).statusCode).toBe(202)
    expect(erasures()).toHaveLength(1)
  })

  const gzip = { 'content-encoding': 'gzip' }
  const refusals: [string, number, () => ReturnType<typeof ask>, string?][] = [
    ['missing_auth_headers', 400, () => ask('{}', { 'x-service-app-key': '' })],
    ['body_too_large', 413, () => ask('x'.repeat(limits.sdk_body_bytes_max + 1))],
    ['empty_body', 400, () => ask('')],
    ['empty_body', 400, () => ask(gzipSync(''), gzip)],
    ['unknown_company_key', 401, () => ask('{}', { 'x-service-company-key': 'co' })],
    ['unknown_app_key', 401, () => ask('{}', { 'x-service-app-key': 'app' })],
    ['app_company_mismatch', 401, () => ask('{}', { 'x-service-app-key': gateway.other.app_key })],
    ['bad_signature', 401, () => ask('{}', { 'x-service-signature': '0'.repeat(64) })],
    ['unsupported_encoding', 415, () => ask('{}', { 'content-encoding': 'br' })],
    ['bad_gzip', 400, () => ask('{}', gzip)],
    ['decompressed_too_large', 413, () => ask(gzipSync(Buffer.alloc(limits.sdk_inflated_bytes_max + 1)), gzip)],
    ['bad_json', 400, () => ask('{')],
    ['bad_json', 400, () => ask('[{"install_uuid":"i-1"}]'), 'body'],
    ['bad_json', 400, () => ask('null'), 'body'],
    ...['{}', '{"install_uuid":null}', '{"install_uuid":""}'].map((body): (typeof refusals)[number] => [
      'install_uuid_required',
      400,
      () => ask(body),
      'install_uuid',
    ]),
    ...['7', '["i-1"]', '{}', '"a/../b"', '"a~1"', '"a b"', '"é"', `"${'x'.repeat(65)}"`].map(
      (value): (typeof refusals)[number] => [
        'invalid_field',
        400,
        () => ask(`{"install_uuid":${value}}`),
        'install_uuid',
      ],
    ),
  ]
  test.each(refusals)('refuses with %s, %i', async (code, status, send, field) => {
    const answer = await send()
    expect(answer.statusCode).toBe(status)
    expect(answer.json()).toMatchObject({ error: code, ...(field ? { field } : {}) })
    expect([gateway.audit.objects.size, erasures().length]).toEqual([0, 0])
  })

  test('refuses with company_suspended', async () => {
    gateway.tenant.company.status = 'suspended'
    expect((await erase('i-1')).json().error).toBe('company_suspended')
  })

  test('is counted by its route', async () => {
    await erase('i-1')
    await ask('{')
    const metrics = await gateway.registry.metrics()
    expect(metrics).toContain('tributary_ingest_requests_total{route="/privacy/delete",code="ok"} 1')
    expect(metrics).toContain('tributary_ingest_requests_total{route="/privacy/delete",code="bad_json"} 1')
  })
})
