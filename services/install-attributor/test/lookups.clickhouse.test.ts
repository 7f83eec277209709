import { randomUUID } from 'node:crypto'
import { clickColumns, clickLine } from '@tributary/attribution/clicks'
import { installColumns, installLine } from '@tributary/attribution/install-rows'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clickhouseLookups } from '../src/lookups/clickhouse-lookups.ts'
import { story, tell } from './arrivals.ts'
import { apps, type Mirror } from './world.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
}, 60_000)
afterAll(() => clickhouse.close())

/** Writes what the other consumers write. */
function mirror(): Mirror {
  let written = 0
  const insert = (table: string, columns: readonly string[], lines: string) =>
    clickhouse.insert({ table, columns, lines, token: randomUUID() })
  return {
    lookups: clickhouseLookups(clickhouse),
    insert: (block) => clickhouse.insert({ ...block, token: randomUUID() }),
    writeClick: (click) => insert('clicks_raw_v1', clickColumns, clickLine(click, click.place)),
    async writeDecision(decision, before) {
      written += 1
      const place = { topic: 'installs.attributed.v1@a', partition: 0, offset: written }
      const lines = [
        ...(before === undefined ? [] : [installLine({ decision: before, sign: -1, place })]),
        installLine({ decision, sign: 1, place }),
      ]
      await insert('installs_v1', installColumns, lines.join('\n'))
    },
  }
}

test('the tables give every install the verdict and the reasons of the whole', async () => {
  await fc.assert(
    fc.asyncProperty(story, async ({ clicks, facts, picks }) => {
      const app_id = randomUUID()
      apps.add({ app_id, company_id: app_id })
      const own = <T extends object>(one: T) => ({ ...one, app_id, company_id: app_id })
      const { verdicts, expected } = await tell({ clicks: clicks.map(own), facts: facts.map(own), picks }, mirror())
      expect(verdicts).toEqual(expected)
    }),
    { numRuns: 12 },
  )
}, 60_000)
