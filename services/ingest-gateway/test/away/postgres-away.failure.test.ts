import { limits } from '@tributary/contracts/limits'
import { migratePostgres } from '@tributary/postgres/migrate'
import { openPostgres } from '@tributary/postgres/postgres'
import { createApp, createCompany, createServerKey, revokeServerKey } from '@tributary/tenancy/companies/tenants'
import type { Credentials } from '@tributary/tenancy/credentials/credentials'
import { openCredentials } from '@tributary/tenancy/credentials/credentials-cache'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { type Credential, gist, openGatewayOver, patience } from '../gateway-over.ts'

const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
const request = { actor: 'test', request_id: 'r', now_ms: Date.now() }
const taken = { status: 200, error: undefined, again: false }
const unavailable = { status: 503, error: 'unavailable', again: true }
const revoked = { status: 401, error: 'unknown_or_revoked_key', again: false }
const three = <T>(one: T) => [one, one, one]

await describeWithOwnEngine('postgres', (postgres) => {
  let pool: Pool
  let credentials: Credentials
  let gateway: Awaited<ReturnType<typeof openGatewayOver>>
  let passed_ms: number
  const now = () => Date.now() + passed_ms

  beforeAll(async () => {
    pool = openPostgres({ url: postgres.url, pool_max: 4, statement_timeout_ms: 2000, connect_timeout_ms: 1000 })
    await migratePostgres({ pool })
  })
  afterAll(() => pool.end())
  beforeEach(async () => {
    passed_ms = 0
    credentials = await openCredentials({ pool, masterKeys, now, logger: pino({ level: 'silent' }) })
    const checks = { database: async () => void (await pool.query('SELECT 1')) }
    gateway = await openGatewayOver({ credentials, now, checks })
    await vi.waitFor(async () => expect(await listeners()).toBeGreaterThan(0), patience)
  })
  afterEach(async () => {
    await gateway.close()
    await credentials.close()
  })

  const listeners = async (): Promise<number> =>
    (
      await pool.query(
        `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'tributary-listener' AND query LIKE 'LISTEN%'`,
      )
    ).rows[0].n

  async function makeTenant(): Promise<Credential & { key_id: string }> {
    const { company_id, company_key } = await createCompany(pool, { name: 'Acme', plan: 'unlimited' }, request)
    const app = await createApp(pool, masterKeys, { company_id, name: 'Game', platform: 'android' }, request)
    const { key, key_id } = await createServerKey(
      pool,
      { app_id: app.app_id, label: 'all', allowed_events: [] },
      request,
    )
    return { company_key, app_key: app.app_key, server_key: key, key_id, app: { signing_secret: app.signing_secret } }
  }
  const answers = async (as: Credential) => (await gateway.everyRoute(as)).map(gist)
  const untilHealth = (status: 'ok' | 'down') =>
    vi.waitFor(async () => expect(await gateway.health('database')).toBe(status), patience)

  it('lets known keys go on for ten minutes while PostgreSQL is dead, no others, and then none', async () => {
    const known = await makeTenant()
    const stranger = await makeTenant()
    expect(await answers(known)).toEqual(three(taken))
    await postgres.kill()
    expect(await answers(known)).toEqual(three(taken))
    expect(await answers(stranger)).toEqual(three(unavailable))
    await untilHealth('down')
    passed_ms = limits.credentials_stale_ms_max - 30_000
    expect(await answers(known)).toEqual(three(taken))
    passed_ms = limits.credentials_stale_ms_max + 1000
    expect(await answers(known)).toEqual(three(unavailable))

    await postgres.restart()
    await vi.waitFor(async () => expect(await answers(known)).toEqual(three(taken)), patience)
    await vi.waitFor(async () => expect(await answers(stranger)).toEqual(three(taken)), patience)
    await untilHealth('ok')
  })

  it('honours within seconds what was changed while the connection that tells of changes was lost', async () => {
    const known = await makeTenant()
    expect(await answers(known)).toEqual(three(taken))
    await postgres.kill()
    expect(await answers(known)).toEqual(three(taken))
    await postgres.restart()
    await vi.waitFor(() => revokeServerKey(pool, known.key_id, request), patience)
    await vi.waitFor(async () => expect(await answers(known)).toEqual([taken, revoked, revoked]), patience)

    await vi.waitFor(async () => expect(await listeners()).toBeGreaterThan(0), patience)
    const second = await makeTenant()
    expect(await answers(second)).toEqual(three(taken))
    await revokeServerKey(pool, second.key_id, request)
    await vi.waitFor(async () => expect(await answers(second)).toEqual([taken, revoked, revoked]), {
      ...patience,
      timeout: 180_000,
    })
  })

  it('answers within its timeouts while PostgreSQL hangs, known keys among them as before', async () => {
    const known = await makeTenant()
    const stranger = await makeTenant()
    expect(await answers(known)).toEqual(three(taken))
    await postgres.pause()
    try {
      passed_ms = limits.credentials_fresh_ms
      const started = performance.now()
      expect(await answers(known)).toEqual(three(taken))
      expect(await answers(stranger)).toEqual(three(unavailable))
      expect(performance.now() - started).toBeLessThan(60_000)
      await untilHealth('down')
    } finally {
      postgres.resume()
    }
    await vi.waitFor(async () => expect(await answers(stranger)).toEqual(three(taken)), patience)
    await untilHealth('ok')
  })
})
