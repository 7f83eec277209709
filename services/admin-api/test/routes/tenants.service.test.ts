import { Company, CompanyCreated, CompanyStatus } from '@tributary/contracts/admin/companies'
import { type ServerKey, ServerKeyStatus, UsedServerKey } from '@tributary/contracts/admin/server-keys'
import { describe, expect, test } from 'vitest'
import { adminApiUnderTest } from '../admin-api-under-test.ts'

const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const { ask, query, newCompany, newApp, newKey, auditOf } = adminApiUnderTest({ now: () => now })

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
    expect((await ask('POST', '/companies', { name: 'C', monthly_quota: null })).body.monthly_quota).toBeNull()
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

  test('a plan brings its quota, an own number replaces that, and each change is logged', async () => {
    const { company_id } = await newCompany()
    const set = async (body: object) => {
      const answer = await ask('PATCH', `/companies/${company_id}`, body)
      expect(answer.status).toBe(200)
      const { plan, monthly_quota } = Company.strict().parse(answer.body)
      return [plan, monthly_quota]
    }
    expect(await set({ plan: 'growth' })).toEqual(['growth', 50_000_000])
    expect(await set({ monthly_quota: 7 })).toEqual(['growth', 7])
    expect(await set({})).toEqual(['growth', 7])
    expect(await set({ plan: 'unlimited' })).toEqual(['unlimited', null])
    expect(await set({ plan: 'scale', monthly_quota: 0 })).toEqual(['scale', 0])
    expect(await set({ monthly_quota: null })).toEqual(['scale', null])
    const shown = (await ask('GET', `/companies/${company_id}`)).body
    expect(Company.strict().parse(shown)).toMatchObject({ company_id, plan: 'scale', created_at_ms: now })
    const logged = (await auditOf(company_id)).map(({ action, detail }) => [action, detail.plan, detail.monthly_quota])
    expect(logged).toEqual([
      ['company.create', 'free', 1_000_000],
      ['company.set', 'growth', 50_000_000],
      ['company.set', 'growth', 7],
      ['company.set', 'unlimited', null],
      ['company.set', 'scale', 0],
      ['company.set', 'scale', null],
    ])
  })

  test('of many changes at once none is lost: the company is as the last logged one says', async () => {
    const { company_id } = await newCompany()
    const changes = Array.from({ length: 20 }, (_, n) =>
      n % 2 ? { plan: 'growth', monthly_quota: n } : { plan: 'scale' },
    )
    await Promise.all(changes.map((change) => ask('PATCH', `/companies/${company_id}`, change)))
    const logged = await auditOf(company_id)
    expect(logged).toHaveLength(21)
    expect((await ask('GET', `/companies/${company_id}`)).body).toMatchObject(logged.at(-1)?.detail)
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
    const { app_id, app_key, signing_secret, store_id } = await newApp()
    expect(app_id).toMatch(/^app_[0-9a-f]{20}$/)
    expect(app_key).toMatch(/^app_live_[0-9a-f]{32}$/)
    expect(signing_secret).toMatch(/^[0-9a-f]{64}$/)
    const [row] = await query('SELECT * FROM apps WHERE app_id = $1', [app_id])
    expect(row).toMatchObject({ platform: 'ios', store_id, bundle_id: null, signing_secret_key_id: 'v2:test' })
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
    expect(UsedServerKey.strict().array().parse(body.keys)).toEqual([
      {
        key_id,
        label: 'billing',
        allowed_events: ['purchase', 'subscribe'],
        scopes: ['events:write', 'reports:read'],
        display: `${key.slice(0, 8)}...${key.slice(-4)}`,
        status: 'active',
        created_at_ms: now,
        last_used_ms: null,
        requests_24h: 0,
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

  test('a key has the scopes that it was made with, each once; all of them by default', async () => {
    const { app_id } = await newApp()
    await newKey(app_id, { scopes: ['reports:read', 'reports:read'] })
    await newKey(app_id, { scopes: ['reports:read', 'events:write'] })
    await newKey(app_id)
    const scopes = (await ask('GET', `/keys?app_id=${app_id}`)).body.keys.map((key: ServerKey) => key.scopes)
    const both = ['events:write', 'reports:read']
    expect(scopes.toSorted((a: string[], b: string[]) => a.length - b.length)).toEqual([['reports:read'], both, both])
  })

  test('an app without keys has an empty list', async () => {
    const { app_id } = await newApp()
    expect((await ask('GET', `/keys?app_id=${app_id}`)).body).toEqual({ keys: [] })
  })
})
