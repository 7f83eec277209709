import { hour_ms } from '@tributary/contracts/limits'
import { createSettler } from '@tributary/tables/settled/settler'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import fc from 'fast-check'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { requests, sendAll, start_ms } from '../replay/replay-requests.ts'
import { openWorld } from '../replay/replay-world.ts'
import { openOwnPool, openReconciler } from './reconcile-world.ts'

let clickhouse: TestClickhouse
let postgres: TestPostgres
let own: Pool
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
  own = await openOwnPool(postgres)
})
afterAll(async () => {
  await own.end()
  await Promise.all([clickhouse.close(), postgres.close()])
})

test('duplicates, late events, rejected ones, money and installs on all doors make no difference, and some are compared', async () => {
  const world = await openWorld({ clickhouse, pool: postgres.pool })
  try {
    const tenants = [await world.newTenant(), await world.newTenant()] as const
    const reconciler = openReconciler({ world, clickhouse, pool: own, asking: postgres.pool })
    for (const some of fc.sample(requests, 2)) await sendAll(world, tenants, some)
    await createSettler({ clickhouse, logger: pino({ level: 'silent' }) })({ quiet_ms: 0 })
    const { state, hours, differences } = await reconciler.ask({ since_ms: start_ms })
    expect([state, differences]).toEqual(['done', []])
    expect(hours).toBeGreaterThan(0)
    world.clock.now_ms += hour_ms
    await reconciler.run()
    expect(await reconciler.known()).toEqual([])
  } finally {
    await world.close()
  }
})
