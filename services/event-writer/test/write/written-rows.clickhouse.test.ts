import { readViewSources } from '@tributary/clickhouse/schema/view-sources'
import { derivedNames } from '@tributary/contracts/tables'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { countedTables } from '../../src/write/written-rows.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

test('the writer knows how each table that views fill knows its rows of a batch, sources before what they feed', async () => {
  const views = await readViewSources(clickhouse)
  expect(derivedNames.toSorted()).toEqual([...views.keys()].toSorted())
  const order = ['events_raw_v1', ...derivedNames]
  for (const { source, target } of views.values()) {
    expect(order.indexOf(source), target).toBeLessThan(order.indexOf(target))
  }
})

test('tables whose rows add up count the rows of each partition, all others hold positions or a set', async () => {
  const summing = await clickhouse.query<{ name: string }>(
    `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%SummingMergeTree' ORDER BY name`,
  )
  expect(summing.map(({ name }) => name)).toEqual([...countedTables].toSorted())
})
