import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { adminApp } from '@tributary/admin-api/test/admin-app'
import { createCompany } from '@tributary/tenancy/companies/tenants'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { offerFirstLink } from '../src/first-person.ts'

const admin_url = 'http://127.0.0.1:8080'
const password = 'the first password of this test'
const headers = { host: '127.0.0.1:8080', origin: admin_url, 'content-type': 'application/json' }
let data_dir: string
let db: TestPostgres
let app: FastifyInstance
beforeEach(async () => {
  data_dir = mkdtempSync(join(tmpdir(), 'tributary-first-person-'))
  db = await openTestPostgres()
  app = await adminApp(db.pool)
})
afterEach(async () => {
  await app.close()
  await db.close()
  rmSync(data_dir, { recursive: true, force: true })
})

const file = () => join(data_dir, 'first-sign-in')
const offer = (onTerminal: boolean) => offerFirstLink({ pool: db.pool, data_dir, admin_url, now: Date.now, onTerminal })
const tokenIn = (text: string) => /#(inv_[\w-]{43})/.exec(text)?.[1] ?? ''

async function post(path: string, body: object, cookie = '') {
  const answer = await app.inject({
    ...{ method: 'POST', url: `/admin/api/v1${path}`, headers: { ...headers, cookie }, payload: JSON.stringify(body) },
  })
  return {
    status: answer.statusCode,
    body: answer.json(),
    cookie: [answer.headers['set-cookie'] ?? ''].flat()[0] ?? '',
  }
}

it('is printed on a terminal, and elsewhere only where its file lies', async () => {
  expect((await offer(true)).join('\n')).toMatch(/http:\/\/127\.0\.0\.1:8080\/admin\/invitation#inv_[\w-]{43}\n/)
  expect(existsSync(file())).toBe(false)
  const lines = (await offer(false)).join('\n')
  expect(lines).not.toContain('inv_')
  expect(lines).toContain(file())
  expect(statSync(file()).mode & 0o777).toBe(0o600)
  expect(tokenIn(readFileSync(file(), 'utf8'))).not.toBe('')
})

it('makes the operator and owner of the demo company, once; each start ends the link before', async () => {
  const request = { actor: 'standalone', request_id: 'r', now_ms: Date.now() }
  const { company_id } = await createCompany(db.pool, { name: 'Demo', plan: 'unlimited' }, request)
  const before = tokenIn((await offer(true)).join())
  const token = tokenIn((await offer(true)).join())
  const accept = (given: string) => post('/invitations/accept', { token: given, email: 'ada@example.com', password })
  expect(await accept(before)).toMatchObject({ status: 404, body: { error: 'unknown_one_time_link' } })
  expect(await post('/invitations/accept', { token, password })).toMatchObject({
    status: 400,
    body: { field: 'email' },
  })
  expect(await accept(token)).toMatchObject({ status: 200 })
  expect(await accept(token)).toMatchObject({ status: 404 })
  const { cookie } = await post('/sign-in', { email: 'ada@example.com', password })
  const me = await app.inject({ url: '/admin/api/v1/me', headers: { ...headers, cookie: cookie.split(';')[0] } })
  expect(me.json().memberships).toMatchObject([
    { role: 'operator', company_id: null },
    { role: 'owner', company_id },
  ])
})

it('is offered no more once there is an operator, and its file is gone', async () => {
  await offer(false)
  const token = tokenIn(readFileSync(file(), 'utf8'))
  await post('/invitations/accept', { token, email: 'ada@example.com', password })
  expect(await offer(false)).toEqual([])
  expect(existsSync(file())).toBe(false)
})
