import { randomUUID } from 'node:crypto'
import { openDocuments } from '@tributary/api-docs/documents'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { createApp, createCompany, createServerKey } from '@tributary/tenancy/companies/tenants'
import type { OpenSession } from '@tributary/tenancy/people/sessions/sessions'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { adminDocs } from '../src/admin-docs.ts'
import type { AdminApiDeps } from '../src/deps.ts'
import { admin_token, masterKeys } from './admin-app.ts'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await openTestPostgres()
})
afterAll(() => postgres.close())

const basic = (password: string) => `Basic ${Buffer.from(`anybody:${password}`).toString('base64')}`

/** The session of a cookie `ses_1`. */
const session = (memberships: OpenSession['memberships'], complete = true) => ({
  find: async (token: string) =>
    token === 'ses_1' ? ({ ...({} as OpenSession), complete, memberships } as OpenSession) : null,
})

async function openAdminDocs(sessions: Pick<AdminApiDeps['sessions'], 'find'> = session([], false)) {
  const logger = pino({ level: 'silent' })
  const app = createHttpApp({ logger })
  const deps = { pool: postgres.pool, admin_token, now: Date.now, logger, documents: openDocuments() }
  await app.register(
    adminDocs({ ...deps, sessions: { ...sessions, close: async () => {} } as AdminApiDeps['sessions'] }),
  )
  return (url: string, authorization?: string, cookie = '') =>
    app.inject({
      url,
      headers: { host: '127.0.0.1:8080', cookie, ...(authorization !== undefined && { authorization }) },
    })
}

test('/admin/docs asks a browser for the admin token, and shows nothing without it', async () => {
  const ask = await openAdminDocs()
  for (const given of [undefined, basic('wrong'), `Bearer ${admin_token}`]) {
    const answer = await ask('/admin/docs', given)
    expect([answer.statusCode, answer.headers['www-authenticate']]).toEqual([401, expect.stringMatching(/^Basic /)])
    expect(answer.body).not.toContain('<')
  }
  expect((await ask('/admin/docs/nothing', basic(admin_token))).statusCode).toBe(404)
  expect((await ask('/admin/docs/search.json', basic(admin_token))).statusCode).toBe(404)
})

test('it fills in the keys of an app, those of no suspended company, and no secret; nobody keeps the page', async () => {
  const { pool } = postgres
  const ask = await openAdminDocs()
  expect((await ask('/admin/docs', basic(admin_token))).body).toContain('npx tributary app create')
  const request = { actor: 'test', request_id: randomUUID(), now_ms: Date.now() }
  const made = []
  for (const name of ['One', 'Two', 'Gone']) {
    const company = await createCompany(pool, { name, plan: 'free' }, request)
    const input = { company_id: company.company_id, name: `${name} <game>`, platform: 'ios' as const }
    const app = await createApp(pool, masterKeys, input, request)
    const key = await createServerKey(pool, { app_id: app.app_id, label: 'all' } as never, request)
    made.push({ company, app, key })
  }
  await pool.query(`UPDATE companies SET status = 'suspended' WHERE name = 'Gone'`)
  const [one, two, gone] = made.map((each) => each!)
  const answer = await ask(`/admin/docs/reference/privacy?app=${two!.app.app_id}`, basic(admin_token))
  expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store'])
  const text = answer.body.replaceAll(/<[^>]*>/g, '')
  expect(text).toContain(`X-Service-App-Key: ${two!.app.app_key}`)
  expect(text).toContain(`X-Service-Company-Key: ${two!.company.company_key}`)
  expect(answer.body).toContain(`?app=${one!.app.app_id}`)
  expect(answer.body).not.toContain(gone!.app.app_id)
  expect(answer.body).not.toContain('<game>')
  for (const { app, key } of made)
    for (const secret of [app.signing_secret, key.key]) expect(answer.body).not.toContain(secret)
})

test('it shows a person who is signed in the apps of their roles, and nothing before the second factor', async () => {
  const { pool } = postgres
  const request = { actor: 'test', request_id: randomUUID(), now_ms: Date.now() }
  const apps: { app_id: string; company_id: string }[] = []
  for (const name of ['Own', 'Foreign']) {
    const { company_id } = await createCompany(pool, { name, plan: 'free' }, request)
    for (const one of ['a', 'b']) {
      const input = { company_id, name: `${name} ${one}`, platform: 'ios' as const }
      apps.push({ company_id, ...(await createApp(pool, masterKeys, input, request)) })
    }
  }
  const { company_id } = apps[0]!
  const seen = async (memberships: OpenSession['memberships'], complete = true) => {
    const ask = await openAdminDocs(session(memberships, complete))
    const answer = await ask('/admin/docs', undefined, 'tributary_8080=ses_1')
    return answer.statusCode === 200 ? apps.map(({ app_id }) => answer.body.includes(app_id)) : answer.statusCode
  }
  expect(await seen([{ role: 'analyst', company_id, apps: null }])).toEqual([true, true, false, false])
  expect(await seen([{ role: 'analyst', company_id, apps: [apps[1]!.app_id] }])).toEqual([false, true, false, false])
  expect(await seen([{ role: 'operator', company_id: null, apps: null }])).toEqual([false, false, false, false])
  expect(await seen([{ role: 'analyst', company_id, apps: null }], false)).toBe(401)
})
