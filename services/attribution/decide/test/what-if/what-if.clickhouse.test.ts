import { randomUUID } from 'node:crypto'
import { readInstallsInOrder } from '@tributary/tables/rows/installs-in-order'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { roundsOf } from '@tributary/testing/rounds'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Story, tell } from '../model/arrivals.ts'
import { mirrorOf } from '../model/mirror.ts'
import { apps, own_settings } from '../model/world.ts'
import { answerOf, everything, expectedOf, held, inAnyOrder, settings, stories, summaryOf } from './what-if-stage.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())
afterEach(() => {
  for (const name of Object.keys(own_settings)) Reflect.deleteProperty(own_settings, name)
})

/** Rows of all tables, whatever was merged. */
async function countRows() {
  const tables = await clickhouse.query<{ name: string }>(
    `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND total_rows > 0`,
  )
  const counts = tables.map(({ name }) => `SELECT '${name}' AS name, count() AS rows FROM ${name} FINAL`)
  return clickhouse.query(`SELECT * FROM (${counts.join(' UNION ALL ')}) ORDER BY name`)
}

test('over the tables what-if gives the same, whatever another app holds, and writes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(stories, held, settings, fc.integer({ min: 1, max: 4 }), async (told, own, given, page) => {
      Object.assign(own_settings, own)
      const app_id = randomUUID()
      apps.add({ app_id, company_id: app_id, settings: own_settings })
      const mine: Story = {
        clicks: told.clicks.map((click) => ({ ...click, app_id, company_id: app_id })),
        facts: told.facts.map((fact) => ({ ...fact, app_id, company_id: app_id })),
        picks: told.picks,
      }
      const end = await tell(mine, mirrorOf(clickhouse))
      const before = await countRows()
      const { lookups } = mirrorOf(clickhouse)
      const window = { app_id, since_ms: 0, until_ms: Date.UTC(2100, 0, 1) }
      const pages = readInstallsInOrder(clickhouse, window, page, new AbortController().signal)
      const answer = await answerOf({
        ...{ app_id, lookups, pages, settings: given, batch_installs: page, now: () => end.clock.ms },
      })
      expect(inAnyOrder(summaryOf(answer))).toEqual(inAnyOrder(expectedOf(mine, end, given, everything)))
      expect(await countRows()).toEqual(before)
    }),
    { numRuns: roundsOf(3) },
  )
})
