import { randomBytes } from 'node:crypto'
import { findCertificate } from '@tributary/erasure/find-certificate'
import { queueErasures } from '@tributary/erasure/queue-erasures'
import { requestRun } from '@tributary/erasure/runs'
import { applyServiceRoles } from '@tributary/postgres/apply-service-roles'
import { roleOf } from '@tributary/postgres/service-roles'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { Pool as PgPool, type Pool } from 'pg'
import { pino } from 'pino'
import type { RequestStore } from '../src/run/open-requests.ts'
import { type EraserDeps, runErasures } from '../src/run/run-erasures.ts'

export const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
export const midnight = Date.UTC(2026, 5, 1)
export const logger = pino({ level: 'silent' })

/** PostgreSQL with apps, and erasers over tables that hold nothing. */
export async function openEraserStage() {
  const db: TestPostgres = await openTestPostgres()
  await applyServiceRoles(db.pool, { eraser: randomBytes(24).toString('hex') })
  const url = new URL(db.url)
  url.searchParams.set('options', `-c role=${roleOf('eraser')}`)
  /** With the rights of the service, and no others. */
  const own: Pool = new PgPool({ connectionString: url.href, max: 5 })

  async function makeApp(keys = masterKeys): Promise<string> {
    const request = { actor: 'test', request_id: 'r', now_ms: midnight }
    const { company_id } = await createCompany(db.pool, { name: 'Acme', plan: 'free' }, request)
    return (await createApp(db.pool, keys, { company_id, name: 'Game', platform: 'ios' }, request)).app_id
  }

  /** Engines with nothing in them. */
  const emptyDeps = (more: Partial<EraserDeps> = {}) =>
    ({
      ...{ pool: own, masterKeys, keyValue: memoryKeyValue(() => midnight), now: () => midnight, logger },
      clickhouse: { isInserting: async () => false, query: async () => [] },
      audit: {
        findAudited: async () => new Map(),
        rewriteApp: async () => new Map(),
        rewriteArchives: async () => new Map(),
        rewriteNoted: async () => {},
      },
      findAudited: async () => new Map(),
      whileRawEventsStay: (step: () => Promise<unknown>) => step(),
      noteLog: async () => ({ unread: async () => [], endOf: () => null }),
      findOlderWork: async () => [],
      pause: async () => {},
      ...more,
    }) as unknown as EraserDeps & RequestStore

  async function runOnce(deps: EraserDeps, signal = new AbortController().signal) {
    await runErasures(deps, await requestRun(db.pool, midnight), signal)
  }

  const stateOf = async (app_id: string, keys = masterKeys) =>
    (await findCertificate({ pool: db.pool, masterKeys: keys }, app_id, 'a'))?.state
  const ask = (app_id: string, keys = masterKeys) =>
    queueErasures({ pool: db.pool, masterKeys: keys }, [
      { app_id, install_uuid: 'a', requested_at_ms: midnight - 1, asked_by: 'sdk' },
    ])
  return {
    ...{ db, own, makeApp, emptyDeps, runOnce, stateOf, ask },
    async close() {
      await own.end()
      await db.close()
    },
  }
}
