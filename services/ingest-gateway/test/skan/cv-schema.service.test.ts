import { CodedError } from '@tributary/contracts/errors'
import { toLiveSchema } from '@tributary/tenancy/postbacks/cv-schemas-cache'
import { buildTenant, memoryCredentials, type Tenant } from '@tributary/testing/builders'
import { beforeEach, describe, expect, test } from 'vitest'
import { openGatewayOver } from '../gateway-over.ts'

const ios = buildTenant('ios')
const other = buildTenant('ios')
const suspended = buildTenant('ios')
suspended.company = { ...suspended.company, status: 'suspended' }
const window = { postback_sequence_index: 0 as const, window_hours: 48 as const, lock_window: true }
const postbacks = [{ ...window, fine: [{ value: 0, name: 'opened' }], coarse: [] }]

/** What the look-up of schemas holds of `ios`. */
let published: { version: number | null; postbacks: typeof postbacks | null }
let away: boolean
let gateway: Awaited<ReturnType<typeof openGatewayOver>>
beforeEach(async () => {
  published = { version: 1, postbacks }
  away = false
  gateway = await openGatewayOver({
    credentials: memoryCredentials([ios, other, suspended]),
    liveSchemas: {
      async find(app_id) {
        if (away) throw new CodedError('unavailable')
        const own = app_id === ios.app.app_id ? published : { version: null, postbacks: null }
        return toLiveSchema({ app_id, company_id: '', ...own })
      },
      close: async () => {},
    },
  })
  return () => gateway.close()
})

const keysOf = ({ company_key, app_key }: Pick<Tenant, 'company_key' | 'app_key'>) => ({
  'x-service-company-key': company_key,
  'x-service-app-key': app_key,
})
const get = (headers: Record<string, string>) => gateway.get('/skan/cv-schema', headers)

describe('GET /skan/cv-schema', () => {
  test('answers the live schema without a signature, for 24 hours, to this app alone', async () => {
    const { statusCode, headers, json } = await get(keysOf(ios))
    expect(statusCode).toBe(200)
    const { app_id } = ios.app
    expect(json()).toEqual({ app_id, version: 1, schema: { version: 1, postbacks } })
    expect(headers).toMatchObject({
      'cache-control': 'max-age=86400',
      'content-type': 'application/json; charset=utf-8',
      etag: expect.stringMatching(/^"[\w-]+"$/),
      vary: 'X-Service-Company-Key, X-Service-App-Key',
    })
  })

  test('answers nulls to an app that has published none', async () => {
    const { statusCode, headers, json } = await get(keysOf(other))
    expect([statusCode, json()]).toEqual([200, { app_id: other.app.app_id, version: null, schema: null }])
    expect(headers).toMatchObject({ 'cache-control': 'max-age=86400', etag: expect.any(String) })
  })

  test('answers 304 without a body while the tag is that of the live schema', async () => {
    const { etag } = (await get(keysOf(ios))).headers
    for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const answer = await get({ ...keysOf(ios), 'if-none-match': String(tag) })
      expect([answer.statusCode, answer.body, answer.headers.etag]).toEqual([304, '', etag])
      expect(answer.headers['cache-control']).toBe('max-age=86400')
    }
    for (const tag of ['"x"', String(etag).slice(1, -1), ''])
      expect((await get({ ...keysOf(ios), 'if-none-match': tag })).statusCode).toBe(200)
    published = { version: 2, postbacks }
    const changed = await get({ ...keysOf(ios), 'if-none-match': String(etag) })
    expect([changed.statusCode, changed.json().version]).toEqual([200, 2])
    expect(changed.headers.etag).not.toBe(etag)
  })

  test.each<[code: string, status: number, headers: Record<string, string>]>([
    ['missing_auth_headers', 400, {}],
    ['missing_auth_headers', 400, { ...keysOf(ios), 'x-service-company-key': '' }],
    ['missing_auth_headers', 400, { ...keysOf(ios), 'x-service-app-key': '' }],
    ['unknown_company_key', 401, keysOf({ ...ios, company_key: 'co_live_0' })],
    ['unknown_app_key', 401, keysOf({ ...ios, app_key: 'app_live_0' })],
    ['company_suspended', 401, keysOf(suspended)],
    ['app_company_mismatch', 401, keysOf({ ...ios, company_key: other.company_key })],
  ])('refuses as /event does: %s', async (error, status, headers) => {
    const answer = await get(headers)
    expect([answer.statusCode, answer.json().error]).toEqual([status, error])
    expect(answer.headers['cache-control']).not.toBe('max-age=86400')
    const event = await gateway.event('{"events":[]}', { 'x-service-company-key': '', ...headers })
    if (status === 401) expect(event.body.error).toBe(error)
  })

  test('is 503 while PostgreSQL is away and the schema is not remembered', async () => {
    away = true
    const answer = await get(keysOf(ios))
    expect([answer.statusCode, answer.json().error, 'retry-after' in answer.headers]).toEqual([
      503,
      'unavailable',
      true,
    ])
  })
})
