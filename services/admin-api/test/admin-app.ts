import { limits } from '@tributary/contracts/limits'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { openSessions } from '@tributary/tenancy/people/sessions/session-cache'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { adminApi } from '../src/app.ts'
import type { AdminApiDeps } from '../src/deps.ts'

export const admin_token = 'a-token-of-this-test-and-no-other'
export const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
export const authorization = `Bearer ${admin_token}`

const silent = pino({ level: 'silent' })

const away = async (): Promise<never> => {
  throw new Error('this test has no ClickHouse')
}
const noClickhouse = {
  query: away,
  isInserting: away,
  insert: away,
  command: away,
  checkHealth: away,
  close: async () => {},
}

/** What the same process answers too, as in standalone. */
export type Beside = (deps: AdminApiDeps) => FastifyPluginAsync

/** The admin API over this database and, unless given otherwise, stores in memory. */
export async function adminApp(
  pool: Pool,
  given: Partial<AdminApiDeps> = {},
  beside?: Beside,
): Promise<FastifyInstance> {
  const { now = Date.now, logger = silent } = given
  let asked = 0
  // Each request reads its session anew: no test waits for the half second that an ended one may still be in memory.
  const elapsed = () => {
    asked += 1
    return asked * limits.session_cache_ms_max
  }
  const sessions = openSessions({ pool, now, elapsed, logger })
  const deps: AdminApiDeps = {
    pool,
    masterKeys,
    admin_token,
    serves_links: true,
    audit: memoryAuditStore(),
    broker: memoryBroker(4, Date.now),
    clickhouse: noClickhouse,
    costs: { store: away },
    keyValue: memoryKeyValue(Date.now),
    status: async () => ({ ready: true, consumers: [], bindings: {} }),
    now: Date.now,
    logger: silent,
    registry: new Registry(),
    sessions,
    ...given,
  }
  const app = createHttpApp({ logger: deps.logger, trusted_proxies: deps.trusted_proxies ?? [] })
  app.addHook('onClose', () => sessions.close())
  await app.register(adminApi(deps))
  if (beside) await app.register(beside(deps))
  return app
}
