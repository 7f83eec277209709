import { randomInt } from 'node:crypto'
import { AppCreated } from '@tributary/contracts/admin/apps'
import { CompanyCreated } from '@tributary/contracts/admin/companies'
import { ServerKeyCreated } from '@tributary/contracts/admin/server-keys'
import { type NewTombstone, writeTombstones } from '@tributary/erasure/write-tombstones'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { afterAll, beforeAll } from 'vitest'
import type { AdminApiDeps } from '../src/deps.ts'
import { adminApp, authorization, type Beside, masterKeys } from './admin-app.ts'

const base = '/admin/api/v1'

/** The admin API over a database of its own, from before the first test of the file until after the last. */
export function adminApiUnderTest(given: Partial<AdminApiDeps> = {}, beside?: Beside) {
  let postgres: TestPostgres
  let app: FastifyInstance
  beforeAll(async () => {
    postgres = await openTestPostgres()
    app = await adminApp(postgres.pool, given, beside)
  })
  afterAll(async () => {
    await app.close()
    await postgres.close()
  })

  /** `path` is what follows the prefix of the admin API; asked with the admin token, if `headers` hold no other. */
  const inject = (path: string, { headers, ...options }: InjectOptions = {}) => {
    const given = Object.entries({ authorization, ...headers }).filter(([, value]) => value !== undefined)
    return app.inject({ ...options, url: base + path, headers: Object.fromEntries(given) })
  }
  /** A request to any path of the process. */
  const injectAt = (url: string, options: InjectOptions) => app.inject({ ...options, url })
  const query = async (text: string, values: unknown[] = []) => (await postgres.pool.query(text, values)).rows

  async function ask(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH',
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) {
    const answer = await inject(path, {
      ...{ method, headers: { 'content-type': 'application/json', ...headers } },
      ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
  }

  const newCompany = async () => CompanyCreated.strict().parse((await ask('POST', '/companies', { name: 'Acme' })).body)
  const newApp = async () => {
    const { company_id } = await newCompany()
    const store_id = String(randomInt(1, 2 ** 47))
    const { body } = await ask('POST', '/apps', { company_id, name: 'Game', platform: 'ios', store_id })
    return { company_id, store_id, ...AppCreated.strict().parse(body) }
  }
  const newKey = async (app_id: string, more: object = {}) =>
    ServerKeyCreated.strict().parse((await ask('POST', '/keys', { app_id, label: 'billing', ...more })).body)

  /** The entries of one company, app or key in the audit log of the admin API, oldest first. */
  const auditOf = (subject: string) =>
    query('SELECT action, actor, detail, request_id, at FROM admin_audit_log WHERE subject = $1 ORDER BY id', [subject])

  /** Writes a tombstone, as a run of the eraser does first. */
  const erase = (tombstone: NewTombstone) => writeTombstones({ pool: postgres.pool, masterKeys }, [tombstone])

  /** Resolves with an address for callers that may go away. */
  const listen = () => app.listen({ port: 0, host: '127.0.0.1' })

  return { pool: () => postgres.pool, listen, erase, inject, injectAt, query, ask, newCompany, newApp, newKey, auditOf }
}
