import { randomUUID } from 'node:crypto'
import { insertInstalls, installRows, type TestDecision } from '@tributary/testing/engines/insert-verdicts'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fillDimensions, findUnfilled } from '../../src/attribution/fill-dimensions.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

const decide = (install_uuid: string, given: Partial<TestDecision> = {}): TestDecision => ({
  ...{ install_uuid, installed_at_ms: Date.UTC(2026, 2, 1), partner: 'acme', attribution_type: 'click_id' },
  ...{ reinstall: false, flagged: false, pending: false },
  ...given,
})

/** Installs that count, by what rows of a report are of. */
const counted = (app_id: string) =>
  clickhouse.query<{ partner: string; ad_group: string; sub1: string; country: string; n: number }>(
    `SELECT partner, ad_group, sub1, country, toInt64(sum(sign)) AS n FROM installs_by_dimensions_v1 FINAL
     WHERE app_id = '${app_id}' GROUP BY ALL HAVING n != 0 ORDER BY ALL`,
  )

test('verdicts of before the table count in it as they do now, with those that ended', async () => {
  const app_id = randomUUID()
  const rows = installRows(app_id, [
    decide('a', { ad_group: 'g', sub1: 's' }),
    decide('a', { partner: 'organic', attribution_type: 'organic' }),
    decide('b', { ad_group: 'g', sub1: 's', country: 'DE' }),
    decide('c', { partner: '', attribution_type: '', pending: true }),
  ])
  await insertInstalls(clickhouse, rows, randomUUID())
  const before = await counted(app_id)
  expect(before.map((row) => Object.values(row))).toEqual([
    ['acme', 'g', 's', 'DE', 1],
    ['organic', '', '', '', 1],
  ])
  // As an upgrade finds it: rows that end a verdict name nothing of its click, and the table is empty.
  await clickhouse.command(
    `ALTER TABLE installs_v1 UPDATE ad_group = '', sub1 = '' WHERE app_id = '${app_id}' AND sign = -1 SETTINGS mutations_sync = 1`,
  )
  await clickhouse.command('TRUNCATE TABLE installs_by_dimensions_v1')
  // A verdict ends after the upgrade: its row is there before the one that began it.
  const ended = installRows(app_id, [decide('b', { ad_group: 'g', sub1: 's', country: 'DE' }), decide('b')], 10).slice(
    1,
  )
  await insertInstalls(clickhouse, ended, randomUUID())
  for (let run = 0; run < 2; run++) {
    for (const app of await findUnfilled(clickhouse)) await fillDimensions(clickhouse, app, (fill) => fill())
    expect((await counted(app_id)).map((row) => Object.values(row))).toEqual([
      ['acme', '', '', '', 1],
      ['organic', '', '', '', 1],
    ])
  }
  expect(await findUnfilled(clickhouse)).toEqual([])
})
