import type { AdminApiDeps } from '@tributary/admin-api/deps'
import { adminApiUnderTest } from '@tributary/admin-api/test/admin-api-under-test'
import { masterKeys } from '@tributary/admin-api/test/admin-app'
import { type EveryOptions, every } from '@tributary/service-kit/service/every'
import type { MasterKeys } from '@tributary/tenancy/secrets/master-keys'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll } from 'vitest'

/** The admin API over a database of its own, and a replayer that does there what it is asked for. */
export function adminAndReplayer(
  given: Partial<AdminApiDeps>,
  work: (deps: { pool: Pool; masterKeys: MasterKeys }) => EveryOptions['work'],
) {
  const admin = adminApiUnderTest(given)
  let replayer: ReturnType<typeof every>
  beforeAll(() => {
    const facts = { name: 'replayer', pause_ms: 20, logger: pino({ level: 'silent' }), registry: new Registry() }
    replayer = every({ ...facts, work: work({ pool: admin.pool(), masterKeys }) })
  })
  afterAll(() => replayer.close())
  return admin
}
