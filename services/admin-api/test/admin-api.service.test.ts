import {
  AppCreated,
  Company,
  CompanyCreated,
  CompanyStatus,
  ServerKey,
  ServerKeyCreated,
  ServerKeyStatus,
  type SystemStatus,
} from '@tributary/contracts/admin'
import { openMasterKeys } from '@tributary/postgres/master-keys'
import { createHttpApp } from '@tributary/service-kit/http'
import { quotaKey } from '@tributary/service-kit/quota-key'
import { memoryAuditStore } from '@tributary/testkit/memory-audit-store'
import { memoryKeyValue } from '@tributary/testkit/memory-key-value'
import { openTestPostgres, type TestPostgres } from '@tributary/testkit/test-postgres'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adminApi } from '../src/app.ts'

const admin_token = 'a-token-of-this-test'
const base = '/admin/api/v1'
const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const status: SystemStatus = { ready: true, consumers: [], bindings: { database: { status: 'ok', latency_ms: 1 } } }

let postgres: TestPostgres
let app: FastifyInstance
const keyValue = memoryKeyValue(() => now)
let logged = ''

beforeAll(async () => {
  postgres = await openTestPostgres()
  const write = (line: string) => {
    logged += line
  }
  const logger = pino({ level: 'trace' }, { write })
  const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
  app = createHttpApp({ logger })
  app.register(
    adminApi({
      ...{
        pool: postgres.pool,
        masterKeys,
        admin_token,
        audit: memoryAuditStore(),
        keyValue,
        status: async () => status,
      },
      ...{ now: () => now, logger, registry: new Registry() },
    }),
  )
  await app.ready()
})
afterAll(async () => {
  await app.close()
  await postgres.close()
})

async function ask(method: 'GET' | 'POST', path: string, body?: unknown, headers: Record<string, string> = {}) {
  const answer = await app.inject({
    method,
    url: base + path,
    headers: { authorization: `Bearer ${admin_token}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
}

const newCompany = async () => CompanyCreated.strict().parse((await ask('POST', '/companies', { name: 'Acme' })).body)
const newApp = async () => {
  const { company_id } = await newCompany()
  const { body } = await ask('POST', '/apps', { company_id, name: 'Game', platform: 'ios', store_id: '123' })
  return { company_id, ...AppCreated.strict().parse(body) }
}
const newKey = async (app_id: string, more: object = {}) =>
  ServerKeyCreated.strict().parse((await ask('POST', '/keys', { app_id, label: 'billing', ...more })).body)
const auditOf = async (subject: string) => {
  const text = 'SELECT action, actor, detail, request_id, at FROM admin_audit_log WHERE subject = $1 ORDER BY id'
  return (await postgres.pool.query(text, [subject])).rows
}

describe('companies', () => {
  test('a new company has the quota of its plan', async () => {
    const { status, body } = await ask('POST', '/companies', { name: 'Acme', plan: 'growth' })
    expect(status).toBe(200)
    expect(CompanyCreated.strict().parse(body)).toMatchObject({ plan: 'growth', monthly_quota: 50_000_000 })
    expect(body.company_id).toMatch(/^co_[0-9a-f]{20}$/)
    expect(body.company_key).toMatch(/^co_live_[0-9a-f]{32}$/)
  })

  test('a company may carry its own quota, zero too, and none is unlimited', async () => {
    const own = await ask('POST', '/companies', {
      name: 'A',
      plan: 'unlimited',
      monthly_quota: Number.MAX_SAFE_INTEGER,
    })
    expect(own.body.monthly_quota).toBe(Number.MAX_SAFE_INTEGER)
    expect((await ask('POST', '/companies', { name: 'B', monthly_quota: 0 })).body.monthly_quota).toBe(0)
    expect((await ask('POST', '/companies', { name: 'C', plan: 'unlimited' })).body.monthly_quota).toBeNull()
  })

  test('half a character in a name is stored as U+FFFD, as PostgreSQL stores no halves', async () => {
    const { status, body } = await ask('POST', '/companies', '{"name":"a\\udc00b"}')
    expect({ status, error: body.error }).toEqual({ status: 200, error: undefined })
    const listed: Company[] = (await ask('GET', '/companies')).body.companies
    expect(listed.find(({ company_id }) => company_id === body.company_id)?.name).toBe('a\ufffdb')
    const { app_id } = await newApp()
    const key = await ask('POST', '/keys', `{"app_id":"${app_id}","label":"\\ud800","allowed_events":["\\ud800"]}`)
    expect(key.body).toMatchObject({ label: '\ufffd', allowed_events: ['\ufffd'] })
  })

  test('the list holds every company with its status', async () => {
    const { company_id } = await newCompany()
    await ask('POST', `/companies/${company_id}/suspend`)
    const { status, body } = await ask('GET', '/companies')
    expect(status).toBe(200)
    const companies = Company.strict().array().parse(body.companies)
    expect(companies.find((company) => company.company_id === company_id)).toMatchObject({
      name: 'Acme',
      plan: 'free',
      monthly_quota: 1_000_000,
      status: 'suspended',
    })
  })

  test('suspending twice and reinstating twice leaves one record of each', async () => {
    const { company_id } = await newCompany()
    for (const verb of ['suspend', 'suspend', 'reinstate', 'reinstate']) {
      const { status, body } = await ask('POST', `/companies/${company_id}/${verb}`)
      expect(status).toBe(200)
      expect(CompanyStatus.strict().parse(body).status).toBe(verb === 'suspend' ? 'suspended' : 'active')
    }
    const actions = (await auditOf(company_id)).map(({ action }) => action)
    expect(actions).toEqual(['company.create', 'company.suspend', 'company.reinstate'])
  })
})

describe('apps and keys', () => {
  test('an app is made with a key and a secret that decrypts only as its own', async () => {
    const { app_id, app_key, signing_secret } = await newApp()
    expect(app_id).toMatch(/^app_[0-9a-f]{20}$/)
    expect(app_key).toMatch(/^app_live_[0-9a-f]{32}$/)
    expect(signing_secret).toMatch(/^[0-9a-f]{64}$/)
    const { rows } = await postgres.pool.query('SELECT * FROM apps WHERE app_id = $1', [app_id])
    expect(rows[0]).toMatchObject({ platform: 'ios', store_id: '123', bundle_id: null, signing_secret_key_id: 'test' })
  })

  test('a server key is shown once; the list shows its ends', async () => {
    const { app_id } = await newApp()
    const { key_id, key, allowed_events } = await newKey(app_id, {
      allowed_events: ['purchase', 'purchase', 'subscribe'],
    })
    expect(key).toMatch(/^srv_[0-9a-f]{48}$/)
    expect(allowed_events).toEqual(['purchase', 'subscribe'])
    const { status, body } = await ask('GET', `/keys?app_id=${app_id}`)
    expect(status).toBe(200)
    expect(ServerKey.strict().array().parse(body.keys)).toEqual([
      {
        key_id,
        label: 'billing',
        allowed_events: ['purchase', 'subscribe'],
        display: `${key.slice(0, 8)}...${key.slice(-4)}`,
        status: 'active',
        created_at_ms: now,
      },
    ])
  })

  test('a revoked key stays revoked and stays in the list', async () => {
    const { app_id } = await newApp()
    const { key_id } = await newKey(app_id)
    for (let time = 0; time < 2; time += 1) {
      const { status, body } = await ask('POST', `/keys/${key_id}/revoke`)
      expect(status).toBe(200)
      expect(ServerKeyStatus.strict().parse(body)).toEqual({ key_id, status: 'revoked' })
    }
    expect((await auditOf(key_id)).map(({ action }) => action)).toEqual(['key.create', 'key.revoke'])
    expect((await ask('GET', `/keys?app_id=${app_id}`)).body.keys[0].status).toBe('revoked')
  })

  test('an app without keys has an empty list', async () => {
    const { app_id } = await newApp()
    expect((await ask('GET', `/keys?app_id=${app_id}`)).body).toEqual({ keys: [] })
  })
})

test('the status is the one of the system', async () => {
  expect(await ask('GET', '/status')).toMatchObject({ status: 200, body: status })
})

test('every change tells who, when and by which request', async () => {
  const { body } = await ask('POST', '/companies', { name: 'Traced' }, { 'x-request-id': 'request-of-mine' })
  const [entry] = await auditOf(body.company_id)
  expect(entry).toMatchObject({
    action: 'company.create',
    request_id: 'request-of-mine',
    actor: 'admin-token@127.0.0.1',
    detail: { name: 'Traced', plan: 'free', monthly_quota: 1_000_000 },
  })
  expect(entry.at.getTime()).toBe(now)
})

test('the audit log refuses to be changed', async () => {
  const { company_id } = await newCompany()
  for (const text of [
    `UPDATE admin_audit_log SET actor = 'nobody' WHERE subject = '${company_id}'`,
    `DELETE FROM admin_audit_log WHERE subject = '${company_id}'`,
    'TRUNCATE admin_audit_log',
  ]) {
    await expect(postgres.pool.query(text)).rejects.toThrow('is refused')
  }
  expect(await auditOf(company_id)).toHaveLength(1)
})

test('no secret is in a log line, in the audit log or in any table', async () => {
  const { app_id, signing_secret } = await newApp()
  const { key } = await newKey(app_id)
  let stored = ''
  for (const table of ['companies', 'apps', 'server_keys', 'admin_audit_log']) {
    const { rows } = await postgres.pool.query(`SELECT t::text AS row FROM ${table} t`)
    stored += rows.map(({ row }) => row).join('\n')
  }
  for (const secret of [signing_secret, key, key.slice(4), admin_token]) {
    expect(logged).not.toContain(secret)
    expect(stored).not.toContain(secret)
    expect(stored).not.toContain(Buffer.from(secret).toString('hex'))
  }
  expect(logged).toContain('admin request')
})

describe('refuses', () => {
  const withAuth = (authorization: string) =>
    ask('POST', '/companies', { name: 'Acme' }, { authorization, 'content-type': 'application/json' })

  test.each(['', 'Bearer', 'Bearer ', 'Basic abc', admin_token])(
    'a request without a bearer token: %j',
    async (given) => {
      expect(await withAuth(given)).toMatchObject({ status: 401, body: { error: 'missing_bearer_token' } })
    },
  )

  test.each([`Bearer ${admin_token}x`, 'Bearer x'])('another token: %j', async (given) => {
    expect(await withAuth(given)).toMatchObject({ status: 401, body: { error: 'invalid_admin_token' } })
  })

  test('a body over 64 KiB, and only after the token', async () => {
    const name = 'x'.repeat(64 * 1024)
    expect(await ask('POST', '/companies', { name })).toMatchObject({ status: 413, body: { error: 'body_too_large' } })
    const stranger = await ask('POST', '/companies', { name }, { authorization: 'Bearer other' })
    expect(stranger.status).toBe(401)
  })

  test.each([undefined, '', '{', '\ufeff{}', '[]', 'null', '"text"', '1'])(
    'a body that is no object: %j',
    async (body) => {
      expect(await ask('POST', '/companies', body)).toMatchObject({ status: 400, body: { error: 'bad_json' } })
    },
  )

  test.each<[path: string, body: object, field: string]>([
    ['/companies', {}, 'name'],
    ['/companies', { name: '  ' }, 'name'],
    ['/companies', { name: 'a\u0000b' }, 'name'],
    ['/companies', { name: 'A', plan: 'gold' }, 'plan'],
    ['/companies', { name: 'A', monthly_quota: -1 }, 'monthly_quota'],
    ['/companies', { name: 'A', monthly_quota: 1.5 }, 'monthly_quota'],
    ['/companies', { name: 'A', monthly_quota: null }, 'monthly_quota'],
    ['/companies', { name: 'A', colour: 'red' }, 'colour'],
    ['/apps', { company_id: 'co_1', name: 'A', platform: 'windows' }, 'platform'],
    ['/apps', { company_id: 7, name: 'A', platform: 'ios' }, 'company_id'],
    ['/apps', { company_id: 'co_1', name: 'A', platform: 'ios', bundle_id: '\u0000' }, 'bundle_id'],
    ['/keys', { app_id: 'app_1', label: '' }, 'label'],
    ['/keys', { app_id: 'app_1', label: 'L', allowed_events: ['ok', ''] }, 'allowed_events.1'],
    ['/keys', { app_id: 'app_1', label: 'L', allowed_events: Array(201).fill('e') }, 'allowed_events'],
  ])('a bad field by its name: %s %j', async (path, body, field) => {
    expect(await ask('POST', path, body)).toMatchObject({ status: 400, body: { error: 'invalid_field', field } })
  })

  test('keys of no app', async () => {
    expect(await ask('GET', '/keys')).toMatchObject({ status: 400, body: { error: 'invalid_field', field: 'app_id' } })
  })

  test.each(['co_00000000000000000000', 'co_', '%00', "'%20OR%201=1"])('an unknown company: %s', async (id) => {
    const expected = { status: 404, body: { error: 'unknown_company' } }
    expect(await ask('POST', `/companies/${id}/suspend`)).toMatchObject(expected)
    const company_id = decodeURIComponent(id)
    expect(await ask('POST', '/apps', { company_id, name: 'A', platform: 'ios' })).toMatchObject(expected)
  })

  test.each(['app_00000000000000000000', 'nothing'])('an unknown app: %s', async (app_id) => {
    const expected = { status: 404, body: { error: 'unknown_app' } }
    expect(await ask('POST', '/keys', { app_id, label: 'L' })).toMatchObject(expected)
    expect(await ask('GET', `/keys?app_id=${app_id}`)).toMatchObject(expected)
  })

  test.each(['key_00000000000000000000', 'nothing'])('an unknown key: %s', async (id) => {
    expect(await ask('POST', `/keys/${id}/revoke`)).toMatchObject({ status: 404, body: { error: 'unknown_key' } })
  })

  test('a method that a path does not have', async () => {
    const answer = await app.inject({ method: 'DELETE', url: `${base}/companies` })
    expect(answer.statusCode).toBe(405)
    expect(answer.json().error).toBe('method_not_allowed')
  })
})

describe('use of the monthly quota', () => {
  test('shows what the gateways counted against the cap, this month or another', async () => {
    const { company_id } = (await ask('POST', '/companies', { name: 'Acme', monthly_quota: 500 })).body
    const usage = async (query = '') => (await ask('GET', `/companies/${company_id}/usage${query}`)).body
    expect(await usage()).toEqual({ company_id, month: '2026-01', used: 0, monthly_quota: 500 })
    await keyValue.addCapped(quotaKey(company_id, now), 321, 500, 1000)
    await keyValue.addCapped(quotaKey(company_id, Date.UTC(2025, 11, 31)), 7, 500, 1000)
    expect(await usage()).toMatchObject({ month: '2026-01', used: 321 })
    expect(await usage('?month=2025-12')).toMatchObject({ month: '2025-12', used: 7 })
  })

  test('refuses a company or a month that there is not', async () => {
    expect((await ask('GET', `/companies/co_${'0'.repeat(20)}/usage`)).body.error).toBe('unknown_company')
    const { company_id } = await newCompany()
    for (const month of ['2026-13', '2026', 'x', '2026-1', '']) {
      const { status: answered, body } = await ask('GET', `/companies/${company_id}/usage?month=${month}`)
      expect([answered, body.error, body.field]).toEqual([400, 'invalid_field', 'month'])
    }
  })
})
