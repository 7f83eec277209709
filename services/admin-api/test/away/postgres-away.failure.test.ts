import { migratePostgres } from '@tributary/postgres/migrate'
import { openPostgres } from '@tributary/postgres/postgres'
import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { adminApp, authorization } from '../admin-app.ts'

const patience = { timeout: 180_000, interval: 50 }
const unavailable = [503, 'unavailable', '5']

await describeWithOwnEngine('postgres', (postgres) => {
  let pool: Pool
  let app: FastifyInstance
  beforeAll(async () => {
    pool = openPostgres({ url: postgres.url, pool_max: 4, statement_timeout_ms: 1000, connect_timeout_ms: 1000 })
    await migratePostgres({ pool })
    app = await adminApp(pool)
  })
  afterAll(async () => {
    await app.close()
    await pool.end()
  })

  /** A question and a change, which never end in anything but an answer. */
  async function answers() {
    const url = '/admin/api/v1/companies'
    const headers = { authorization }
    const both = await Promise.all([
      app.inject({ method: 'GET', url, headers }),
      app.inject({ method: 'POST', url, headers, payload: '{"name":"Acme"}' }),
    ])
    return both.map((answer) => [answer.statusCode, answer.json().error, answer.headers['retry-after']])
  }
  const untilWorking = () =>
    vi.waitFor(async () => {
      const [list, create] = await answers()
      expect([list![1], create![1]]).toEqual([undefined, undefined])
    }, patience)

  it('answers 503 and when to come again while PostgreSQL is dead or hangs, and goes on alone', async () => {
    await untilWorking()
    await postgres.kill()
    expect(await answers()).toEqual([unavailable, unavailable])
    await postgres.restart()
    await untilWorking()
    await postgres.pause()
    try {
      expect(await answers()).toEqual([unavailable, unavailable])
    } finally {
      postgres.resume()
    }
    await untilWorking()
  })
})
