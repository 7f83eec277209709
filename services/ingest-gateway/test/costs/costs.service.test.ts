import { gzipSync } from 'node:zlib'
import { limits } from '@tributary/contracts/limits'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Gateway, openGateway } from '../gateway.ts'

let gateway: Gateway
beforeEach(async () => {
  gateway = await openGateway()
})

const cost = (change: object = {}) => ({ day: '2026-06-01', partner: 'acme', cost: 1, currency: 'USD', ...change })
const put = (body: unknown, headers: Record<string, string> = {}, method: 'PUT' | 'POST' | 'GET' = 'PUT') =>
  gateway.app.inject({
    ...{ method, url: '/api/v1/costs', headers: { authorization: `Bearer ${gateway.tenant.server_key}`, ...headers } },
    payload: Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body),
  })

describe('PUT /api/v1/costs', () => {
  test('stores what it accepts for the app of the key, and says why it rejects the rest', async () => {
    const answer = await put({ costs: [cost({ partner: 'Acme' }), cost({ cost: -1 }), 7], as_of_ms: 17 })
    expect([answer.statusCode, answer.json()]).toEqual([
      200,
      {
        ...{ accepted: 1, rejected: 2 },
        results: [
          { status: 'accepted' },
          { status: 'rejected', reason: 'bad_cost', field: 'cost', message: expect.any(String) },
          { status: 'rejected', reason: 'missing_required_fields', message: expect.any(String) },
        ],
      },
    ])
    expect(gateway.costs.uploads).toMatchObject([
      {
        ...{ app_id: gateway.tenant.app.app_id, as_of_ms: 17, uploaded_at_ms: gateway.now_ms },
        costs: [{ day: '2026-06-01', partner: 'acme', cost_micros: 1_000_000 }],
      },
    ])
    expect([gateway.audit.objects.size, gateway.records().length]).toEqual([0, 0])
  })

  test('takes gzip, no as_of_ms, and 1000 costs with the longest texts in JSON escapes', async () => {
    const escaped = (text: string) => [...text].map(() => '\\u00e9').join('')
    const long = `{${JSON.stringify(cost({ partner: 'x'.repeat(64) })).slice(1, -1)},"campaign":"${escaped('x'.repeat(128))}","ad_group":"${escaped('x'.repeat(128))}"`
    const costs = Array.from({ length: limits.costs_max }, (_, n) => `${long},"clicks":${n}}`)
    const body = `{"costs":[${costs.join(',')}]}`
    for (const answer of [await put(body), await put(gzipSync(body), { 'content-encoding': 'gzip' })]) {
      expect([answer.statusCode, answer.json().accepted]).toEqual([200, limits.costs_max])
    }
    expect(gateway.costs.uploads.map(({ as_of_ms, costs: of }) => [as_of_ms, of.length, of[0]?.clicks])).toEqual([
      [0, 1, 999],
      [0, 1, 999],
    ])
  })

  test('a request with nothing accepted is answered and stores nothing', async () => {
    const answer = await put({ costs: [{}] })
    expect([answer.statusCode, answer.json().rejected, gateway.costs.uploads]).toEqual([200, 1, []])
  })

  test.each([
    ['bad_json', 400, undefined, '{'],
    ['bad_json', 400, undefined, ''],
    ['bad_json', 400, undefined, []],
    ['bad_batch_shape', 400, 'costs', {}],
    ['bad_batch_shape', 400, 'costs', { costs: [] }],
    ['bad_batch_shape', 400, 'costs', { costs: { 0: cost() } }],
    ['too_many_costs', 400, 'costs', { costs: Array(limits.costs_max + 1).fill(7) }],
    ['bad_batch_shape', 400, 'as_of_ms', { costs: [cost()], as_of_ms: '17' }],
    ['bad_batch_shape', 400, 'as_of_ms', { costs: [cost()], as_of_ms: -1 }],
    ['bad_batch_shape', 400, 'as_of_ms', { costs: [cost()], as_of_ms: 1.5 }],
    ['bad_batch_shape', 400, 'as_of_ms', { costs: [cost()], as_of_ms: Date.UTC(2026, 5, 2, 12) + 1 }],
    ['bad_batch_shape', 400, 'as_of', { costs: [cost()], as_of: 17 }],
    ['body_too_large', 413, undefined, ' '.repeat(limits.costs_body_bytes_max + 1)],
  ] as const)('refuses with %s, %i, %s', async (code, status, field, body) => {
    const answer = await put(body)
    const { error, field: named } = answer.json()
    expect([answer.statusCode, error]).toEqual([status, code])
    if (field !== undefined) expect(named).toBe(field)
    expect(gateway.costs.uploads).toEqual([])
  })

  test('a bomb is refused at the limit', async () => {
    const answer = await put(gzipSync(Buffer.alloc(limits.costs_body_bytes_max + 1, ' ')), {
      'content-encoding': 'gzip',
    })
    expect([answer.statusCode, answer.json().error]).toEqual([413, 'body_too_large'])
  })

  test('the key needs costs:write, which no other route takes for its own scope; the refusal uses up a request', async () => {
    const { key } = gateway.tenant
    key.scopes = ['events:write', 'reports:read']
    const refused = await put({ costs: [cost()] })
    key.scopes = ['costs:write']
    const taken = await put({ costs: [cost()] })
    const event = await gateway.s2s('/s2s/event', {})
    const answers = [refused, taken, event].map(({ statusCode, headers }) => [
      statusCode,
      headers['ratelimit-remaining'],
    ])
    const { key_requests_max: max } = limits
    expect(answers).toEqual([
      [403, `${max - 1}`],
      [200, `${max - 2}`],
      [403, `${max - 3}`],
    ])
    expect(refused.json().error).toBe('scope_missing')
  })

  test('an unknown key and a suspended company are refused, and the quota is not touched', async () => {
    const unknown = await put({ costs: [cost()] }, { authorization: 'Bearer srv_0' })
    expect([unknown.statusCode, unknown.json().error]).toEqual([401, 'unknown_or_revoked_key'])
    gateway.tenant.key.monthly_quota = 0
    const taken = await put({ costs: [cost()] })
    expect([taken.statusCode, taken.headers['x-service-quota-used']]).toEqual([200, undefined])
    gateway.tenant.key.company_status = 'suspended'
    const suspended = await put({ costs: [cost()] })
    expect([suspended.statusCode, suspended.json().error]).toEqual([401, 'company_suspended'])
  })

  test('other methods are 405 with Allow', async () => {
    const answer = await put({ costs: [cost()] }, {}, 'POST')
    expect([answer.statusCode, answer.json().error, answer.headers.allow]).toEqual([405, 'method_not_allowed', 'PUT'])
  })

  test('503 while the costs can not be stored, and the others of the door go on', async () => {
    const { CodedError } = await import('@tributary/contracts/errors')
    gateway.costs.fault = new CodedError('unavailable', { headers: { 'retry-after': '1' } })
    const away = await put({ costs: [cost()] })
    expect([away.statusCode, away.json().error, away.headers['retry-after']]).toEqual([503, 'unavailable', '1'])
    const event = { event_name: 'x', event_ts_ms: gateway.now_ms, install_uuid: 'i-1' }
    expect((await gateway.s2s('/s2s/event', event)).statusCode).toBe(200)
  })
})
