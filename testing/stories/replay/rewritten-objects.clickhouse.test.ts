import { rewriteAudit } from '@tributary/erasure/audit/rewrite-audit'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { requests, sendAll } from './replay-requests.ts'
import { loseEvents, openWorld, tablesOf } from './replay-world.ts'

let clickhouse: TestClickhouse
let postgres: TestPostgres
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
})
afterAll(() => Promise.all([clickhouse.close(), postgres.close()]))

test('a replay from rewritten objects brings back every event but those of the erased install', async () => {
  const world = await openWorld({ clickhouse, pool: postgres.pool })
  try {
    const tenants = [await world.newTenant(), await world.newTenant()] as const
    for (const some of fc.sample(requests, 3)) await sendAll(world, [...tenants], some)
    const { events_raw_v1: before = [] } = await tablesOf(clickhouse)
    const [{ app_id }] = tenants
    const isErased = (row: string) => row.includes(`"app_id":"${app_id}"`) && row.includes('"install_uuid":"i-1"')
    expect(before.some(isErased)).toBe(true)

    const { rows } = await postgres.pool.query('SELECT company_id FROM apps WHERE app_id = $1', [app_id])
    const counts = await rewriteAudit({
      ...{ audit: world.audit, app_id, company_id: rows[0].company_id },
      installs: [{ install_uuid: 'i-1', mark_ms: world.clock.now_ms }],
      ...{ now: () => world.clock.now_ms, signal: new AbortController().signal },
    })
    expect(counts).toMatchObject({ objects_unreadable: 0 })
    expect(counts.objects_rewritten).toBeGreaterThan(0)

    await loseEvents(clickhouse, () => false)
    const replayed = await world.replay({ source: 'audit' })
    expect(replayed).toMatchObject({ state: 'done', unknown_reasons: expect.any(Object) })
    expect(replayed).not.toHaveProperty('unknown_reasons.unreadable_object')
    await world.untilWritten()
    const { events_raw_v1: after } = await tablesOf(clickhouse)
    expect(after).toEqual(before.filter((row) => !isErased(row)))
  } finally {
    await world.close()
  }
})
