import { openMasterKeys } from '@tributary/postgres/master-keys'
import { openPostgres } from '@tributary/postgres/postgres'
import { createHttpApp } from '@tributary/service-kit/http'
import { memoryAuditStore } from '@tributary/testkit/memory-audit-store'
import { memoryKeyValue } from '@tributary/testkit/memory-key-value'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { adminApi } from '../src/app.ts'

test('without PostgreSQL the admin API answers 503 and when to come again', async () => {
  const logger = pino({ level: 'silent' })
  // Port 9 (discard) of the loopback: nothing listens there.
  const url = 'postgres://nobody:secret-password@127.0.0.1:9/none'
  const pool = openPostgres({ url, pool_max: 1, statement_timeout_ms: 1_000, connect_timeout_ms: 1_000 })
  const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
  const app = createHttpApp({ logger })
  const status = async () => ({ ready: false, consumers: [], bindings: {} })
  const registry = new Registry()
  app.register(
    adminApi({
      pool,
      masterKeys,
      admin_token: 'token',
      audit: memoryAuditStore(),
      keyValue: memoryKeyValue(Date.now),
      status,
      now: Date.now,
      logger,
      registry,
    }),
  )
  const headers = { authorization: 'Bearer token' }
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
