import { gzipSync } from 'node:zlib'
import { limits } from '@tributary/contracts/limits'
import { sdkEvent } from '@tributary/testing/builders'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Gateway, openGateway } from './gateway.ts'

let gateway: Gateway
beforeEach(async () => {
  gateway = await openGateway()
})

const event = (change: Record<string, unknown> = {}) => sdkEvent({ event_ts_ms: gateway.now_ms, ...change })
const single = (body: unknown, headers?: Record<string, string>) => gateway.s2s('/s2s/event', body, headers)
const bulk = (body: unknown, headers?: Record<string, string>) => gateway.s2s('/s2s/events/bulk', body, headers)
const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('POST /s2s/event', () => {
  test('accepts an event: audited under the prefix of the app, in the log, answered', async () => {
    const sent = event({ event_id: 'order 7/é~'.replace(/[ é]/g, '-'), revenue: 4.99, currency: 'eur' })
    const answer = await single(sent)
    const audit_key = 's2s/2026-06-01/order-7%2F-%7E.json'
    expect([answer.statusCode, answer.json()]).toEqual([200, { accepted: 1, event_id: sent.event_id, audit_key }])
    const stored = JSON.parse(gateway.audit.objects.get(`${gateway.tenant.app.app_id}/${audit_key}`)?.toString() ?? '')
    expect(stored).toMatchObject({ event_id: sent.event_id, received_at_ms: gateway.now_ms, body: sent })
    expect(gateway.envelopes()).toMatchObject([{ source: 's2s', install_uuid: sent.install_uuid, events: [sent] }])
  })

  test('makes a UUIDv7 for an event without an id, answers it and sends it on', async () => {
    for (const event_id of [undefined, null]) {
      const reply = (await single(event({ event_id }))).json()
      expect(reply.event_id).toMatch(uuidV7)
      expect(reply.audit_key).toBe(`s2s/2026-06-01/${reply.event_id}.json`)
      expect(gateway.envelopes().flatMap(({ events }) => events.map((e) => e.event_id))).toContain(reply.event_id)
    }
  })

  test('answers a re-send with the same audit_key; with other bytes it goes beside, again under one key', async () => {
    const sent = event({ event_id: 'a' })
    const changed = { ...sent, revenue: 1 }
    const keys = []
    for (const body of [sent, sent, changed, changed, sent]) keys.push((await single(body)).json().audit_key)
    const [first, , beside] = keys
    expect(first).toBe('s2s/2026-06-01/a.json')
    expect(beside).toMatch(/^s2s\/2026-06-01\/a~[0-9a-f]{8}\.json$/)
    expect(keys).toEqual([first, first, beside, beside, first])
    expect(gateway.audit.objects.size).toBe(2)
  })

  test('keeps the same id of two apps apart', async () => {
    await single(event({ event_id: 'a' }))
    await gateway.s2s('/s2s/event', event({ event_id: 'a' }), {}, gateway.other)
    expect(gateway.audit.objects.size).toBe(2)
  })

  test('takes gzip and reads the platform in any case', async () => {
    const body = gzipSync(JSON.stringify(event({ platform: 'Android', device: { os: 'ANDROID' } })))
    expect((await single(body, { 'content-encoding': 'gzip' })).statusCode).toBe(200)
  })

  test.each<[string, Record<string, unknown>, string?]>([
    ['install_uuid_required', { install_uuid: null, event_ts_ms: null, event_name: '' }, 'install_uuid'],
    ['event_ts_ms_required', { event_ts_ms: null, event_name: '' }, 'event_ts_ms'],
    ['event_name_required', { event_name: '', event_id: 'a b' }, 'event_name'],
    ['bad_event_id', { event_id: 7, install_uuid: '!' }],
    ['invalid_field', { install_uuid: '!' }, 'install_uuid'],
    ['event_ts_ms_out_of_range', { event_ts_ms: 1 }, 'event_ts_ms'],
    ['invalid_field', { revenue: 'x' }, 'revenue'],
    ['invalid_field', { event_name: 'a\u0000' }, 'event_name'],
    ['s2s_app_platform_mismatch', { platform: 'IOS', install_uuid: null }],
    ['s2s_app_platform_mismatch', { props: { platform: 'ios' } }],
    ['s2s_app_platform_mismatch', { device: { os: 'ios' } }],
  ])('refuses with %s', async (code, change, field) => {
    const answer = await single(event(change))
    expect(answer.statusCode).toBe(400)
    expect(answer.json()).toMatchObject({ error: code, ...(field ? { field } : {}) })
    if (code !== 's2s_app_platform_mismatch') expect(answer.json().message).toContain(field ?? 'event_id')
    expect([gateway.audit.objects.size, gateway.records().length]).toEqual([0, 0])
  })
})

test('a field that events do not have is kept within its limits, and a refusal names them', async () => {
  const deep = (levels: number): object => (levels === 1 ? {} : { in: deep(levels - 1) })
  expect((await single(event({ own: deep(8) }))).statusCode).toBe(200)
  for (const change of [{ own: deep(9) }, { other: 'x', own: 'x'.repeat(64 * 1024) }]) {
    const answer = await single(event(change))
    expect([answer.statusCode, answer.json()]).toMatchObject([400, { error: 'invalid_field', field: 'own' }])
    expect(answer.json().message).toMatch(/at most 8 levels, and all together at most 64 KiB of JSON/)
  }
  expect((await single(event({ props: deep(9) }))).json().message).toMatch(
    /^props is an object of at most 16 KiB of JSON and 8 levels/,
  )
})

describe('POST /s2s/events/bulk', () => {
  test('answers for each item in order; the audit object can tell minted ids again', async () => {
    const items = [event({ event_id: 'a' }), event({ event_id: undefined }), {}, 7, event({ event_id: '' })]
    const answer = await bulk({ events: items })
    const { audit_key, results, ...counts } = answer.json()
    expect([answer.statusCode, counts]).toEqual([200, { accepted: 2, rejected: 3 }])
    expect(results.map(({ message, ...rest }: { message?: string }) => rest)).toEqual([
      { event_id: 'a', status: 'accepted' },
      { event_id: expect.stringMatching(uuidV7), status: 'accepted' },
      { event_id: null, status: 'rejected', reason: 'missing_required_fields', field: 'install_uuid' },
      { event_id: null, status: 'rejected', reason: 'missing_required_fields' },
      { event_id: '', status: 'rejected', reason: 'bad_event_id' },
    ])
    expect(audit_key).toMatch(/^s2s\/bulk\/2026-06-01\/[0-9a-f-]{36}\.json$/)
    const stored = JSON.parse(gateway.audit.objects.get(`${gateway.tenant.app.app_id}/${audit_key}`)?.toString() ?? '')
    expect(stored).toMatchObject({
      minted_event_ids: { 1: results[1].event_id },
      body: { events: [items[0], {}, {}, 7, {}] },
    })
    expect(gateway.envelopes().every(({ source }) => source === 'bulk')).toBe(true)
  })

  test('answers duplicates as accepted', async () => {
    const same = event()
    expect((await bulk({ events: [same, same] })).json()).toMatchObject({ accepted: 2, rejected: 0 })
  })

  test('audits a request with nothing accepted and publishes nothing', async () => {
    expect((await bulk({ events: [{}] })).json()).toMatchObject({ accepted: 0, rejected: 1 })
    expect([gateway.audit.objects.size, gateway.records().length]).toEqual([1, 0])
  })

  test.each<[string, number, () => unknown]>([
    ['too_many_events', 400, () => ({ events: Array(1001).fill({ platform: 'ios' }) })],
    ['bad_json', 400, () => ({})],
    ['bad_json', 400, () => ({ events: [] })],
    ['bad_json', 400, () => ({ events: { length: 1 } })],
    ['s2s_app_platform_mismatch', 400, () => ({ events: [event(), { device: { os: 'iOS' } }] })],
    ['body_too_large', 413, () => 'x'.repeat(limits.bulk_body_bytes_max + 1)],
  ])('refuses the whole request with %s', async (code, status, body) => {
    const answer = await bulk(body())
    expect([answer.statusCode, answer.json().error]).toEqual([status, code])
    expect([gateway.audit.objects.size, gateway.records().length]).toEqual([0, 0])
  })
})

describe.each(['/s2s/event', '/s2s/events/bulk'])('POST %s', (url) => {
  const send = (body: unknown, headers: Record<string, string> = {}) => gateway.s2s(url, body, headers)
  const wrap = (item: unknown) => (url === '/s2s/event' ? item : { events: [item] })
  const gzip = { 'content-encoding': 'gzip' }
  const bytes_max = url === '/s2s/event' ? limits.s2s_body_bytes_max : limits.bulk_body_bytes_max

  test.each<[string, number, () => ReturnType<typeof send>]>([
    ['missing_bearer_token', 401, () => send('', { authorization: '' })],
    ['missing_bearer_token', 401, () => send('', { authorization: 'Basic abc' })],
    ['missing_bearer_token', 401, () => send('', { authorization: 'Bearer' })],
    ['missing_bearer_token', 401, () => send('', { authorization: 'Bearer a b' })],
    ['unknown_or_revoked_key', 401, () => send('', { authorization: `Bearer srv_${'0'.repeat(48)}` })],
    [
      'company_suspended',
      401,
      () => {
        gateway.tenant.key.company_status = 'suspended'
        return send('')
      },
    ],
    [
      'company_suspended',
      401,
      () => {
        Object.assign(gateway.tenant.key, { company_status: 'suspended', scopes: ['reports:read'] })
        return send('')
      },
    ],
    [
      'scope_missing',
      403,
      () => {
        gateway.tenant.key.scopes = ['reports:read']
        return send('x'.repeat(bytes_max + 1))
      },
    ],
    ['body_too_large', 413, () => send('x'.repeat(bytes_max + 1), { 'content-encoding': 'br' })],
    ['unsupported_encoding', 415, () => send('{}', { 'content-encoding': 'br' })],
    ['bad_gzip', 400, () => send('{}', gzip)],
    ['body_too_large', 413, () => send(gzipSync(Buffer.alloc(bytes_max + 1)), gzip)],
    ['bad_json', 400, () => send('')],
    ['bad_json', 400, () => send(gzipSync(''), gzip)],
    ['bad_json', 400, () => send('[]')],
    ['bad_json', 400, () => send('null')],
    ['bad_json', 400, () => send(Buffer.from([0x22, 0xc3, 0x22]))],
    [
      'event_not_allowed_by_key',
      403,
      () => {
        gateway.tenant.key.allowed_events = ['purchase']
        return send(wrap({ event_name: 'sign_up' }))
      },
    ],
  ])('refuses with %s, %i', async (code, status, request) => {
    const answer = await request()
    expect([answer.statusCode, answer.json().error]).toEqual([status, code])
    expect([gateway.audit.objects.size, gateway.records().length]).toEqual([0, 0])
  })

  test('a refusal for its scope uses up a request of the key, and says its rate', async () => {
    const { key } = gateway.tenant
    key.scopes = ['reports:read']
    const refused = await send('{')
    key.scopes = ['events:write']
    const taken = await send(wrap(event()))
    expect([refused.statusCode, refused.headers['ratelimit-remaining']]).toEqual([
      403,
      `${limits.key_requests_max - 1}`,
    ])
    expect([taken.statusCode, taken.headers['ratelimit-remaining']]).toEqual([200, `${limits.key_requests_max - 2}`])
  })

  test('the platform rule comes before the allow-list, the allow-list before required fields', async () => {
    gateway.tenant.key.allowed_events = ['purchase']
    expect((await send(wrap({ event_name: 'x', platform: 'ios' }))).json().error).toBe('s2s_app_platform_mismatch')
    expect((await send(wrap({ event_name: 'x' }))).json().error).toBe('event_not_allowed_by_key')
    expect((await send(wrap(event({ event_name: 'purchase' })))).statusCode).toBe(200)
  })

  test('503 audit_write_failed without a record in the log; 503 unavailable when the log is away', async () => {
    gateway.audit.fault = new Error('no')
    const noAudit = await send(wrap(event()))
    expect([noAudit.statusCode, noAudit.json().error]).toEqual([503, 'audit_write_failed'])
    expect(gateway.records()).toEqual([])
    gateway.audit.fault = null
    gateway.log.fault = new Error('no')
    const noLog = await send(wrap(event()))
    expect([noLog.statusCode, noLog.json().error]).toEqual([503, 'unavailable'])
    expect([noAudit.headers['retry-after'], noLog.headers['retry-after']]).toEqual(['1', '1'])
    expect(gateway.log.audit_objects_before).toBe(1)
  })
})
