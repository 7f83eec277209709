import { CodedError } from '@tributary/contracts/errors'
import { reportNames } from '@tributary/contracts/reports'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import type { Credentials, ServerKeyCredential } from '@tributary/tenancy/credentials/credentials'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { noPostbacks } from '@tributary/testing/twins/postback-apps'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { reportApi } from '../src/app.ts'

const now_ms = Date.UTC(2026, 5, 15, 12)
const day_ms = 24 * 3600 * 1000
const key = `srv_${'a'.repeat(48)}`
const credential: ServerKeyCredential = {
  key_id: 'key_1',
  app_id: 'app_1',
  company_id: 'co_1',
  platform: 'ios',
  allowed_events: [],
  scopes: ['reports:read'],
  company_status: 'active',
  monthly_quota: null,
}

/** Answers that are given one after the other; the last one holds. */
let engine: () => Promise<never[]>
let findServerKey: Credentials['findServerKey']
let app: ReturnType<typeof createHttpApp>

beforeEach(async () => {
  engine = async () => []
  findServerKey = async (given) => (given === key ? credential : null)
  const logger = pino({ level: 'silent' })
  app = createHttpApp({ logger })
  await app.register(
    reportApi({
      clickhouse: { query: () => engine() },
      fxRates: { find: async () => () => null },
      ...noPostbacks(),
      credentials: { findServerKey: (given) => findServerKey(given) },
      keyValue: memoryKeyValue(() => now_ms),
      now: () => now_ms,
      registry: new Registry(),
      logger,
    }),
  )
})
afterEach(() => app.close())

interface Ask {
  method?: string
  path?: string
  authorization?: string | null
  body?: string
}
async function ask({ method = 'GET', path = '/events', authorization = `Bearer ${key}`, body }: Ask) {
  const answer = await app.inject({
    method: method as 'GET',
    url: `/api/v1/reports${path}`,
    headers: authorization === null ? {} : { authorization },
    ...(body !== undefined && { payload: body }),
  })
  return { status: answer.statusCode, headers: answer.headers, body: answer.body === '' ? {} : answer.json() }
}
const refusal = async (what: Ask) => {
  const { status, body } = await ask(what)
  return [status, body.error]
}

test('a request without parameters asks for the last 30 days up to now, 100 rows', async () => {
  const { status, body } = await ask({})
  expect(status).toBe(200)
  expect(body).toEqual({
    rows: [],
    meta: {
      since_ms: now_ms - 30 * day_ms,
      until_ms: now_ms,
      limit: 100,
      offset: 0,
      rows: 0,
      more: false,
      elapsed_ms: expect.toSatisfy(Number.isInteger),
    },
  })
})

test.each([
  '',
  '/',
  '/nope',
  '/Events',
  '/events/',
  '/events/x',
  '//events',
  '/__proto__',
  '/constructor',
  '/%zz',
  '/%',
  `/${'x'.repeat(300)}`,
])('a path that is no report is unknown_report, whatever the method and key: %s', async (path) => {
  expect(await refusal({ path })).toEqual([404, 'unknown_report'])
  expect(await refusal({ path, method: 'POST', body: '{}' })).toEqual([404, 'unknown_report'])
  expect(await refusal({ path, authorization: null })).toEqual([404, 'unknown_report'])
})

test('a report is found by the letters that its path encodes', async () => {
  expect((await ask({ path: '/%65vents' })).status).toBe(200)
  expect(await refusal({ path: '/%65vents', method: 'POST' })).toEqual([405, 'method_not_allowed'])
  expect((await app.inject({ url: '/api/v1/re%70orts/events' })).json().error).toBe('missing_bearer_token')
  expect((await app.inject({ url: '/api/v1/re%70orts/nope' })).json().error).toBe('unknown_report')
})

test('an id of any length is an unknown install', async () => {
  const headers = { authorization: `Bearer ${key}` }
  for (const length of [65, 101, 8000]) {
    const answer = await app.inject({ url: `/api/v1/installs/${'x'.repeat(length)}`, headers })
    expect([answer.statusCode, answer.json().error], String(length)).toEqual([404, 'unknown_install'])
  }
})

test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'TRACE', 'PROPFIND', 'QUERY'])(
  'a report answers %s with method_not_allowed, before it looks at the key or the body',
  async (method) => {
    const answer = await ask({ method, authorization: null })
    expect([answer.status, answer.headers.allow]).toEqual([405, 'GET'])
    if (method !== 'HEAD') expect(answer.body.error).toBe('method_not_allowed')
  },
)

test('a body too large changes nothing about the method', async () => {
  const body = 'x'.repeat(1024 * 1024)
  expect(await refusal({ method: 'POST', body })).toEqual([405, 'method_not_allowed'])
  expect(await refusal({ method: 'POST', body, path: '/nope' })).toEqual([404, 'unknown_report'])
})

describe('keys', () => {
  test.each([null, '', 'Bearer', 'Bearer ', `Basic ${key}`, key, `Bearer ${key} more`, `Bearer${key}`])(
    'an Authorization that is no bearer token is missing_bearer_token: %s',
    async (authorization) => {
      expect(await refusal({ authorization })).toEqual([401, 'missing_bearer_token'])
    },
  )

  test('an unknown or revoked key is refused before the parameters are read', async () => {
    expect(await refusal({ authorization: `Bearer srv_${'b'.repeat(48)}`, path: '/events?limit=x' })).toEqual([
      401,
      'invalid_or_revoked_key',
    ])
  })

  test('a key of a suspended company is refused with company_suspended, counts, and says its rate', async () => {
    findServerKey = async () => ({ ...credential, company_status: 'suspended' })
    const answer = await ask({ path: '/events?since_ms=x' })
    expect([answer.status, answer.body.error]).toEqual([401, 'company_suspended'])
    expect(answer.headers).toMatchObject({ 'ratelimit-limit': '1000', 'ratelimit-remaining': '999' })
  })

  test('a key that may only send is refused with scope_missing on reports and installs, counts, and says its rate', async () => {
    findServerKey = async () => ({ ...credential, scopes: ['events:write'] })
    const answer = await ask({ path: '/events?since_ms=x' })
    expect([answer.status, answer.body.error]).toEqual([403, 'scope_missing'])
    expect(answer.headers).toMatchObject({ 'ratelimit-limit': '1000', 'ratelimit-remaining': '999' })
    const headers = { authorization: `Bearer ${key}` }
    expect((await app.inject({ url: '/api/v1/installs/i-1', headers })).json().error).toBe('scope_missing')
    findServerKey = async () => credential
    expect((await ask({})).headers['ratelimit-remaining']).toBe('997')
  })

  test('credentials that are away answer unavailable', async () => {
    findServerKey = async () => {
      throw new CodedError('unavailable', { headers: { 'retry-after': '1' } })
    }
    expect(await refusal({})).toEqual([503, 'unavailable'])
  })
})

describe('parameters', () => {
  const noIntegers = [
    '',
    'x',
    'NaN',
    '1e3',
    '0x10',
    '1.5',
    ' 5',
    '5 ',
    '+5',
    '%005',
    '9007199254740993',
    '1'.repeat(400),
    '١',
  ]

  test.each(noIntegers)('a time that is no integer is invalid_since_until: "%s"', async (text) => {
    expect(await refusal({ path: `/events?since_ms=${encodeURI(text)}` })).toEqual([400, 'invalid_since_until'])
    expect(await refusal({ path: `/events?until_ms=${encodeURI(text)}` })).toEqual([400, 'invalid_since_until'])
  })
  test.each([...noIntegers, '0', '1001', '-1'])('a limit outside 1 to 1000 is invalid_limit: "%s"', async (text) => {
    expect(await refusal({ path: `/events?limit=${encodeURI(text)}` })).toEqual([400, 'invalid_limit'])
  })
  test.each([...noIntegers, '-1'])('an offset that is no integer from 0 is invalid_offset: "%s"', async (text) => {
    expect(await refusal({ path: `/events?offset=${encodeURI(text)}` })).toEqual([400, 'invalid_offset'])
  })
  test.each(['since_ms', 'until_ms', 'limit', 'offset'])('a repeated %s is refused', async (name) => {
    const [status] = await refusal({ path: `/events?${name}=1&${name}=1` })
    expect(status).toBe(400)
  })

  const window = (since_ms: number, until_ms: number) => `/events?since_ms=${since_ms}&until_ms=${until_ms}`
  test('an empty or reversed window is refused, also against the defaults', async () => {
    const code = [400, 'since_ms_must_be_less_than_until_ms']
    expect(await refusal({ path: window(5, 5) })).toEqual(code)
    expect(await refusal({ path: window(6, 5) })).toEqual(code)
    expect(await refusal({ path: `/events?since_ms=${now_ms}` })).toEqual(code)
    expect(await refusal({ path: `/events?until_ms=${now_ms - 30 * day_ms}` })).toEqual(code)
  })
  test('a time in seconds is asked about, in a refusal and beside rows', async () => {
    const s = Math.floor(now_ms / 1000)
    const messageOf = async (query: string) => (await ask({ path: `/events?${query}` })).body.message
    expect(await messageOf(`since_ms=${s}`)).toMatch(/365 days.* since_ms looks like seconds\?/)
    expect(await messageOf(`until_ms=${s}`)).toMatch(/^until_ms looks like seconds\?/)
    const { status, body } = await ask({ path: window(s - 86_400, s) })
    expect([status, body.meta.hint]).toEqual([200, expect.stringMatching(/^since_ms and until_ms look like seconds\?/)])
    expect((await ask({ path: window(1, 2) })).body.meta).not.toHaveProperty('hint')
  })
  test('a path that is no report is answered with the reports that there are', async () => {
    expect((await ask({ path: '/event' })).body.message).toBe(`Reports: ${reportNames.join(', ')}.`)
  })
  test('a window may be 365 days and no millisecond more', async () => {
    expect(await refusal({ path: window(now_ms - 365 * day_ms - 1, now_ms) })).toEqual([400, 'window_too_large'])
    expect((await ask({ path: window(now_ms - 365 * day_ms, now_ms) })).status).toBe(200)
  })
  test('faults are told in the order numbers, order of the window, its size, limit, offset', async () => {
    const faults: [string, string][] = [
      ['since_ms=9&until_ms=x&limit=0&offset=-1', 'invalid_since_until'],
      ['since_ms=9&until_ms=8&limit=0&offset=-1', 'since_ms_must_be_less_than_until_ms'],
      [`since_ms=0&until_ms=${now_ms}&limit=0&offset=-1`, 'window_too_large'],
      [`since_ms=0&until_ms=${now_ms}&limit=x&offset=x`, 'window_too_large'],
      ['since_ms=1&until_ms=2&limit=0&offset=-1', 'invalid_limit'],
      ['since_ms=1&until_ms=2&limit=0&offset=x', 'invalid_limit'],
      ['since_ms=1&until_ms=2&limit=1&offset=-1', 'invalid_offset'],
    ]
    const bad = 'group=x&days=x&format=x'
    for (const [query, code] of faults) {
      expect(await refusal({ path: `/events?${query}` })).toEqual([400, code])
      expect(await refusal({ path: `/cohorts?${bad}&${query}` })).toEqual([400, code])
    }
  })
  test.each([
    ...['x', '', 'Day', 'year', 'day,week'].map((text) => ['group', text] as const),
    ...['x', '', ',', '1,', '366', '-1', '1.5', '1 ', '01x', '0,1,2,3,4,5,6,7,8,9,10'].map(
      (text) => ['days', text] as const,
    ),
    ...['x', '', 'CSV', 'json,csv', 'xml'].map((text) => ['format', text] as const),
  ])('a %s that says nothing is invalid_field with its rule in words: "%s"', async (field, text) => {
    const answer = await ask({ path: `/cohorts?${field}=${encodeURIComponent(text)}` })
    expect([answer.status, answer.body]).toMatchObject([400, { error: 'invalid_field', field }])
    expect(answer.body.message).toMatch(/^It must be /)
  })
  test('group, days and format may stand once in a request, and days only where rows have fields of days', async () => {
    for (const field of ['group=day', 'days=1', 'format=csv']) {
      const name = field.split('=')[0]
      const { status, body } = await ask({ path: `/ltv?${field}&${field}` })
      expect([status, body.error, body.field]).toEqual([400, 'invalid_field', name])
    }
    for (const name of ['events', 'attribution', 'revenue']) {
      const { status, body } = await ask({ path: `/${name}?days=1` })
      expect([status, body.error, body.field]).toEqual([400, 'unknown_parameter', 'days'])
    }
    for (const query of ['group=week', 'group=month&days=0,365', 'days=0,1,2,3,4,5,6,7,8,9', 'format=json']) {
      expect((await ask({ path: `/cohorts?${query}` })).status, query).toBe(200)
    }
  })
  test.each([
    ['since_ms=2026-11-01', /whole Unix milliseconds/],
    ['since_ms=0', /365 days/],
    ['limit=1001', /from 1 to 1000/],
    ['offset=-1', /from 0/],
  ])('a number that is refused comes with its rule in words: %s', async (query, rule) => {
    expect((await ask({ path: `/events?${query}` })).body.message).toMatch(rule)
  })
  test.each([
    'since=2026-11-01',
    'app_id=x',
    'Limit=5',
    '__proto__=1',
    'limit[]=5',
    'partner=x',
    '=x',
    'until_ms%20=5',
  ])(
    'a parameter that the report does not have is unknown_parameter, told before any other fault: %s',
    async (text) => {
      const { status, body } = await ask({ path: `/events?since_ms=x&${text}&limit=0` })
      const field = decodeURIComponent(text.split('=', 1)[0]!)
      expect([status, body.error, body.field ?? '']).toEqual([400, 'unknown_parameter', field])
      expect(body.message).toContain('since_ms, until_ms, limit, offset, event_name')
    },
  )
  test.each([
    ['attribution?attribution_type=clicks', /^It must be one of: install_referrer, .*organic, imported\.$/],
    ['events?event_name=', /^It must be 1 to 128 characters/],
    [`revenue?partner=${'x'.repeat(65)}`, /^It must be 1 to 64 characters/],
  ])('a filter that is refused comes with its rule in words: %s', async (path, rule) => {
    expect((await ask({ path: `/${path}` })).body.message).toMatch(rule)
  })
  test('a filter that no name can match is invalid_field, told after all numbers', async () => {
    const long = 'x'.repeat(129)
    const many = Array.from({ length: 101 }, (_, n) => `event_name=e${n}`).join('&')
    for (const query of ['event_name=', `event_name=${long}`, 'event_name=a&event_name=', many]) {
      const { status, body } = await ask({ path: `/events?${query}` })
      expect([status, body.error, body.field]).toEqual([400, 'invalid_field', 'event_name'])
      expect(await refusal({ path: `/events?${query}&offset=-1` })).toEqual([400, 'invalid_offset'])
    }
    expect((await ask({ path: `/events?${many.slice(many.indexOf('&') + 1)}` })).status).toBe(200)
  })
  test('integers at the ends of what a number holds are fine', async () => {
    const max = Number.MAX_SAFE_INTEGER
    for (const path of [
      window(max - 5, max),
      window(-max, -max + 5),
      window(-5, 5),
      `/events?offset=${max}&limit=1000`,
    ]) {
      expect((await ask({ path })).status, path).toBe(200)
    }
  })
})

test('a fault of the engine says internal_error and nothing else', async () => {
  engine = async () => {
    throw new Error('Code: 60. secret table')
  }
  const { status, body } = await ask({})
  expect(status).toBe(500)
  expect(body).toEqual({ error: 'internal_error', request_id: expect.any(String) })
})

test('an engine that is away or too busy says unavailable with Retry-After', async () => {
  engine = async () => {
    throw new CodedError('unavailable', { headers: { 'retry-after': '5' } })
  }
  const { status, headers, body } = await ask({})
  expect([status, headers['retry-after'], body.error]).toEqual([503, '5', 'unavailable'])
})
