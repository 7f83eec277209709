import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { roundsOf } from '@tributary/testing/rounds'
import { verifyEvents } from '@tributary/testing/verify-events'
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

test.each(['log', 'audit'] as const)(
  'a replay from the %s brings back exactly what was there, whatever part of it was lost, and a second one fills nothing',
  async (source) => {
    await loseEvents(clickhouse, () => false)
    const world = await openWorld({ clickhouse, pool: postgres.pool })
    const tenants = [await world.newTenant(), await world.newTenant()] as const
    await fc.assert(
      fc.asyncProperty(requests, fc.constantFrom(1n, 2n, 3n), async (many, part) => {
        await sendAll(world, tenants, many)
        const before = await tablesOf(clickhouse)
        const filled = await loseEvents(clickhouse, (row) => BigInt(row.event_key) % part !== 0n)
        const done = { state: 'done', filled }
        expect(await world.replay({ source, dry_run: true })).toMatchObject(done)
        expect(await world.replay({ source })).toMatchObject(done)
        await world.untilWritten()
        expect(await tablesOf(clickhouse)).toEqual(before)
        const { differing } = await verifyEvents(clickhouse, [], [])
        expect(Object.entries(differing).filter(([, groups]) => groups > 0)).toEqual([])
        expect(await world.replay({ source })).toMatchObject({ ...done, filled: 0 })
      }),
      { numRuns: roundsOf(2), endOnFailure: true },
    )
    await world.close()
  },
)
