import { gzipSync } from 'node:zlib'
import { limits } from '@tributary/contracts/limits'
import { sdkEvent, sign, signedHeaders } from '@tributary/testing/builders'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Gateway, openGateway } from './gateway.ts'

let gateway: Gateway
beforeEach(async () => {
  gateway = await openGateway()
})

const event = (change: Record<string, unknown> = {}) => sdkEvent({ event_ts_ms: gateway.now_ms, ...change })
const batch = (...events: unknown[]) => JSON.stringify({ events, sent_at_ms: gateway.now_ms })
const install = (app_id: string) => ({ app_id, install_uuid: 'i-1' })

describe('POST /event accepts', () => {
  test('a signed batch: audited, in the log, answered with a result each', async () => {
    const events = [event({ install_uuid: 'i-1' }), event({ install_uuid: 'i-1', anything: [1, { else: 'é' }] })]
    const answer = await gateway.event(batch(...events), { 'x-service-sdk': 'unity-2.1.0', 'user-agent': 'u/1' })
    expect(answer.statusCode).toBe(200)
    const { audit_key, ...reply } = answer.json()
    expect(reply).toEqual({
      accepted: 2,
      rejected: 0,
      results: events.map(({ event_id }) => ({ event_id, status: 'accepted' })),
    })
    const { app_id, company_id } = gateway.tenant.app
    expect(audit_key).toMatch(new RegExp(`^audit/2026/06/01/${company_id}/${app_id}/[^/]+\\.jsonl\\.gz$`))
    expect(gateway.envelopes()).toEqual([
      {
        v: 1,
        ...{ company_id, platform: 'android', source: 'sdk', ...install(app_id) },
        ...{ received_at_ms: gateway.now_ms, sent_at_ms: gateway.now_ms, ip: '127.0.0.1' },
        ...{ user_agent: 'u/1', country: '', sdk: 'unity-2.1.0', sdk_platform: '', audit_key, events },
      },
    ])
    expect(gateway.auditLines().map((line) => JSON.parse(line))).toEqual([
      {
        received_at_ms: gateway.now_ms,
        ip: '127.0.0.1',
        headers: { 'user-agent': 'u/1', 'x-service-sdk': 'unity-2.1.0', 'x-service-platform': '' },
        body: { events, sent_at_ms: gateway.now_ms },
      },
    ])
  })

  test('gzip, several members, with the signature over the compressed bytes; the audit line holds the same body', async () => {
    const text = batch(event(), event())
    const body = Buffer.concat([gzipSync(text.slice(0, 40)), gzipSync(text.slice(40))])
    const answer = await gateway.event(body, { 'content-encoding': 'GZIP' })
    expect(answer.json()).toMatchObject({ accepted: 2, rejected: 0 })
    expect(gateway.auditLines().map((line) => JSON.parse(line).body)).toEqual([JSON.parse(text)])
  })

  test('a record keeps the gzip of a client only if any reader takes it: one member that names nothing', async () => {
    const text = batch(...Array.from({ length: 20 }, (_, n) => event({ event_id: `e-${n}`, install_uuid: 'i-1' })))
    const plain = gzipSync(text)
    const named = Buffer.concat([plain.subarray(0, 10), Buffer.from(`${'n'.repeat(600)}\0`), plain.subarray(10)])
    named[3] = 0x08
    const versions: number[] = []
    for (const body of [plain, named, Buffer.concat([gzipSync(''), plain]), Buffer.concat([plain, gzipSync('')])]) {
      expect((await gateway.event(body, { 'content-encoding': 'gzip' })).json()).toMatchObject({ accepted: 20 })
      versions.push(JSON.parse(gateway.records().at(-1)!.value.toString()).v)
    }
    expect(versions).toEqual([2, 1, 1, 1])
  })

  test('a body with raw line breaks stays one audit line', async () => {
    const text = JSON.stringify({ events: [event({ props: { note: 'a\nb' } })] }, null, '\r\n  ')
    for (const [body, headers] of [
      [text, {}],
      [gzipSync(text), { 'content-encoding': 'gzip' }],
    ] as const) {
      expect((await gateway.event(body, headers)).statusCode).toBe(200)
    }
    expect(gateway.auditLines().map((line) => JSON.parse(line).body)).toEqual([JSON.parse(text), JSON.parse(text)])
  })

  test('a mixed batch: results in request order, only accepted events in the log, one record for each install', async () => {
    const events = [
      event({ event_id: 'a', install_uuid: 'i-1' }),
      event({ event_id: 'bad id', install_uuid: 'i-1' }),
      event({ event_id: 'c', install_uuid: 'i-2' }),
      null,
      event({ event_id: 'd', install_uuid: '' }),
      event({ event_id: 'e', install_uuid: 'i-1', event_ts_ms: undefined }),
      event({ event_id: 'f', event_ts_ms: 1 }),
      event({ event_id: 'g', revenue: '9.99' }),
      event({ event_id: undefined }),
    ]
    const { results, accepted, rejected } = (await gateway.event(batch(...events))).json()
    expect([accepted, rejected]).toEqual([3, 6])
    const messages = results.flatMap(({ message }: { message?: string }) => message ?? [])
    expect(results.map(({ message, ...rest }: { message?: string }) => rest)).toEqual([
      { event_id: 'a', status: 'accepted' },
      { event_id: 'bad id', status: 'rejected', reason: 'bad_event_id' },
      { event_id: 'c', status: 'accepted' },
      { event_id: null, status: 'rejected', reason: 'missing_required_fields' },
      { event_id: 'd', status: 'rejected', reason: 'missing_required_fields', field: 'install_uuid' },
      { event_id: 'e', status: 'accepted' },
      { event_id: 'f', status: 'rejected', reason: 'event_ts_ms_out_of_range', field: 'event_ts_ms' },
      { event_id: 'g', status: 'rejected', reason: 'invalid_field', field: 'revenue' },
      { event_id: null, status: 'rejected', reason: 'bad_event_id' },
    ])
    expect(messages).toEqual([
      'event_id is 1 to 128 visible ASCII characters, and an app sends one.',
      'An event is a JSON object.',
      'install_uuid is absent or empty.',
      'event_ts_ms is from 2010 to 24 h ahead of now, in milliseconds.',
      'revenue is a number, not text, of at most 1000000000 in amount.',
      'event_id is 1 to 128 visible ASCII characters, and an app sends one.',
    ])
    const ids = gateway.envelopes().map(({ install_uuid, events }) => [install_uuid, ...events.map((e) => e.event_id)])
    expect(ids.sort()).toEqual([
      ['i-1', 'a', 'e'],
      ['i-2', 'c'],
    ])
  })

  test('two installs in one batch without a fault: each in its own record, whole and in order', async () => {
    const events = ['i-1', 'i-2', 'i-1', 'i-2'].map((install_uuid) => event({ install_uuid }))
    expect((await gateway.event(batch(...events))).json()).toMatchObject({ accepted: 4, rejected: 0 })
    const found = gateway.envelopes().map((envelope) => [envelope.install_uuid, envelope.events])
    expect(Object.fromEntries(found)).toEqual({ 'i-1': [events[0], events[2]], 'i-2': [events[1], events[3]] })
  })

  test('a batch with nothing to accept: 200, audited, nothing in the log', async () => {
    const answer = await gateway.event(batch({}))
    expect(answer.json()).toMatchObject({ accepted: 0, rejected: 1 })
    expect(gateway.auditLines()).toHaveLength(1)
    expect(gateway.records()).toEqual([])
  })

  test('an install with more than a record holds: several records, every event once', async () => {
    const filler = 'x'.repeat(15_000)
    const events = Array.from({ length: 60 }, (_, n) =>
      event({ event_id: `e${n}`, install_uuid: 'i-1', props: { filler } }),
    )
    expect((await gateway.event(gzipSync(batch(...events)), { 'content-encoding': 'gzip' })).statusCode).toBe(200)
    expect(gateway.records().length).toBeGreaterThan(1)
    expect(Math.max(...gateway.records().map(({ value }) => value.length))).toBeLessThanOrEqual(limits.record_bytes_max)
    expect(gateway.envelopes().flatMap((envelope) => envelope.events)).toEqual(events)
  })

  test.each([undefined, null, 1.5, '1e400'])('sent_at_ms %s without storing what is no integer', async (sent) => {
    const value = sent === undefined ? '' : `,"sent_at_ms":${sent}`
    expect((await gateway.event(`{"events":[${JSON.stringify(event())}]${value}}`)).statusCode).toBe(200)
    expect(gateway.envelopes()[0]?.sent_at_ms).toBe(sent === 1.5 ? 2 : undefined)
  })
})

describe('a rotated signing secret', () => {
  const hour_ms = 3_600_000
  const signedBy = async (signing_secret: string) => {
    const body = batch(event())
    const { statusCode } = await gateway.event(body, { 'x-service-signature': sign(signing_secret, body) })
    return statusCode
  }

  test('signs beside the old ones until each of them ends', async () => {
    const { app } = gateway.tenant
    app.old_secrets = [
      { signing_secret: 'first', ends_at_ms: gateway.now_ms + hour_ms },
      { signing_secret: 'second', ends_at_ms: gateway.now_ms + 2 * hour_ms },
    ]
    const statuses = async () => [await signedBy('first'), await signedBy('second'), await signedBy(app.signing_secret)]
    expect(await statuses()).toEqual([200, 200, 200])
    gateway.pass(hour_ms - 1)
    expect(await statuses()).toEqual([200, 200, 200])
    gateway.pass(1)
    expect(await statuses()).toEqual([401, 200, 200])
    gateway.pass(hour_ms)
    expect(await statuses()).toEqual([401, 401, 200])
  })

  test('lets no other secret sign', async () => {
    gateway.tenant.app.old_secrets = [{ signing_secret: 'first', ends_at_ms: gateway.now_ms + hour_ms }]
    for (const wrong of ['third', gateway.other.app.signing_secret]) expect(await signedBy(wrong)).toBe(401)
  })
})

describe('POST /event refuses', () => {
  const signed =
    (body: Buffer | string, headers: Record<string, string> = {}) =>
    () =>
      gateway.event(body, headers)
  const gzip = { 'content-encoding': 'gzip' }
  const cases: [string, number, () => ReturnType<Gateway['event']>][] = [
    ['body_too_large', 413, signed('x'.repeat(limits.sdk_body_bytes_max + 1))],
    ['empty_body', 400, signed('')],
    ['empty_body', 400, signed(gzipSync(''), gzip)],
    ['unknown_company_key', 401, () => gateway.event(batch(event()), { 'x-service-company-key': 'co_live_0' })],
    ['unknown_app_key', 401, () => gateway.event(batch(event()), { 'x-service-app-key': '__proto__' })],
    [
      'company_suspended',
      401,
      () => {
        gateway.tenant.company.status = 'suspended'
        return gateway.event(batch(event()))
      },
    ],
    [
      'app_company_mismatch',
      401,
      () => gateway.event(batch(event()), { 'x-service-company-key': gateway.other.company_key }),
    ],
    ['bad_signature', 401, () => gateway.event(batch(event()), { 'x-service-signature': 'a'.repeat(64) })],
    ['bad_signature', 401, () => gateway.event(batch(event()), { 'x-service-signature': 'é'.repeat(64) })],
    [
      'bad_signature', // upper case
      401,
      () => {
        const text = batch(event())
        const signature = signedHeaders(gateway.tenant, text)['x-service-signature'] as string
        return gateway.event(text, { 'x-service-signature': signature.toUpperCase() })
      },
    ],
    [
      'bad_signature', // over the inflated bytes
      401,
      () => {
        const text = batch(event())
        return gateway.event(gzipSync(text), { ...gzip, ...signedHeaders(gateway.tenant, text) })
      },
    ],
    ['unsupported_encoding', 415, signed('{}', { 'content-encoding': 'br' })],
    ['unsupported_encoding', 415, signed('{}', { 'content-encoding': 'gzip, gzip' })],
    ['bad_gzip', 400, signed('{}', gzip)],
    ['bad_gzip', 400, signed(gzipSync('{"events":[]}').subarray(0, -5), gzip)],
    ['bad_gzip', 400, signed(Buffer.concat([gzipSync('{}'), Buffer.from([0, 0])]), gzip)],
    ['bad_gzip', 400, signed(Buffer.concat([gzipSync('{}'), Buffer.from('junk')]), gzip)],
    ['bad_gzip', 400, signed(Buffer.concat([gzipSync('{}'), gzipSync('{}').subarray(0, 12)]), gzip)],
    ['decompressed_too_large', 413, signed(gzipSync(Buffer.alloc(limits.sdk_inflated_bytes_max + 1)), gzip)],
    ['bad_json', 400, signed('{"events":[')],
    ['bad_json', 400, signed('{"events":[NaN]}')],
    ['bad_json', 400, signed('\ufeff{"events":[{}]}')],
    ['bad_json', 400, signed(Buffer.from('{"events":[{"event_id":"\xff"}]}', 'latin1'))],
    ['bad_batch_shape', 400, signed('null')],
    ['bad_batch_shape', 400, signed('[]')],
    ['bad_batch_shape', 400, signed('{}')],
    ['bad_batch_shape', 400, signed('{"events":{}}')],
    ['bad_batch_shape', 400, signed('{"events":[]}')],
    ['bad_batch_shape', 400, signed('{"events":[{}],"sent_at_ms":"1"}')],
    ['bad_batch_shape', 400, signed(JSON.stringify({ events: Array(501).fill({}) }))],
    ['bad_batch_shape', 400, signed('{"events":[{}],"events":[]}')],
  ]
  test.each(cases)('%s with %i', async (code, status, send) => {
    const answer = await send()
    expect([answer.statusCode, answer.json().error]).toEqual([status, code])
    expect(answer.json().request_id).toBe(answer.headers['x-request-id'])
    expect(gateway.audit.objects.size).toBe(0)
    expect(gateway.records()).toEqual([])
  })

  test('missing_auth_headers, and names each header that is missing or empty', async () => {
    const names = ['X-Service-Company-Key', 'X-Service-App-Key', 'X-Service-Signature']
    for (const missing of [[0], [1], [2], [0, 2], [0, 1, 2]].map((some) => some.map((index) => names[index]!))) {
      const headers = Object.fromEntries(missing.map((name) => [name.toLowerCase(), '']))
      const answer = await gateway.event(batch(event()), headers)
      const { error, message } = answer.json()
      expect([answer.statusCode, error]).toEqual([400, 'missing_auth_headers'])
      expect(message).toBe(`Missing or empty: ${missing.join(', ')}.`)
      expect([gateway.audit.objects.size, gateway.records().length]).toEqual([0, 0])
    }
  })

  test('bad_signature with the usual causes, the same ones for every wrong signature', async () => {
    const wrong = ['a'.repeat(64), 'short', 'A'.repeat(64)]
    const answers = wrong.map((signature) => gateway.event(batch(event()), { 'x-service-signature': signature }))
    const messages = new Set((await Promise.all(answers)).map((answer) => answer.json().message))
    expect([...messages]).toEqual([expect.stringMatching(/again after signing.*before gzip.*another app/)])
  })

  test('the first fault of the order wins, whatever else is wrong', async () => {
    const { tenant, other } = gateway
    const huge = 'x'.repeat(limits.sdk_body_bytes_max + 1)
    const none = { 'x-service-company-key': 'co', 'x-service-app-key': 'app', 'x-service-signature': 'sig' }
    const company = { ...none, 'x-service-company-key': tenant.company_key }
    const app = { ...company, 'x-service-app-key': other.app_key }
    const send = async (headers: Record<string, string>, body: Buffer | string | undefined) =>
      (await gateway.call('/event', { 'content-encoding': 'br', ...headers }, body)).json().error
    expect(await send({}, huge)).toBe('missing_auth_headers')
    expect(await send(none, huge)).toBe('body_too_large')
    expect(await send(none, undefined)).toBe('empty_body')
    expect(await send(none, '{')).toBe('unknown_company_key')
    expect(await send(company, '{')).toBe('unknown_app_key')
    tenant.company.status = 'suspended'
    expect(await send(app, '{')).toBe('company_suspended')
    tenant.company.status = 'active'
    expect(await send(app, '{')).toBe('app_company_mismatch')
    expect(await send({ ...company, 'x-service-app-key': tenant.app_key }, '{')).toBe('bad_signature')
    expect(await send(signedHeaders(tenant, '{'), '{')).toBe('unsupported_encoding')
  })
})

describe('an acknowledgement of /event', () => {
  test('is refused when the audit write fails, and nothing is in the log', async () => {
    gateway.audit.fault = new Error('disk full at /secret/path')
    const answer = await gateway.event(batch(event()))
    expect([answer.statusCode, answer.json().error]).toEqual([503, 'audit_write_failed'])
    expect(answer.headers['retry-after']).toBe('1')
    expect(answer.body).not.toContain('secret')
    expect(gateway.records()).toEqual([])
  })

  test('is refused when the log fails, though the audit object is there', async () => {
    gateway.log.fault = new Error('no leader')
    const answer = await gateway.event(batch(event()))
    expect([answer.statusCode, answer.json().error]).toEqual([503, 'unavailable'])
    expect(answer.headers['retry-after']).toBe('1')
    expect(gateway.log.audit_objects_before).toBe(1)
  })
})
