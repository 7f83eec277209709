import { openPostgres } from '@tributary/postgres/postgres'
import { expect, test } from 'vitest'
import { adminApp, authorization } from '../admin-app.ts'

test('without PostgreSQL the admin API answers 503 and when to come again', async () => {
  // Port 9 (discard) of the loopback: nothing listens there.
  const url = 'postgres://nobody:secret-password@127.0.0.1:9/none'
  const pool = openPostgres({ url, pool_max: 1, statement_timeout_ms: 1_000, connect_timeout_ms: 1_000 })
  const app = await adminApp(pool)
  const headers = { authorization }
  for (const request of [
    { method: 'GET' as const, url: '/admin/api/v1/companies', headers },
    { method: 'POST' as const, url: '/admin/api/v1/companies', headers, payload: '{"name":"Acme"}' },
  ]) {
    const answer = await app.inject(request)
    expect(answer.statusCode).toBe(503)
    expect(answer.json()).toMatchObject({ error: 'unavailable' })
    expect(answer.headers['retry-after']).toBe('5')
    expect(answer.body).not.toContain('secret-password')
  }
  await app.close()
  await pool.end()
})
