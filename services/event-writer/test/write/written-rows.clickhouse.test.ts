import { randomUUID } from 'node:crypto'
import { readViewSources } from '@tributary/clickhouse/schema/view-sources'
import { derivedNames } from '@tributary/contracts/tables'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { countedTables, findLanded } from '../../src/write/written-rows.ts'

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

/** Rows of a batch as they are looked up. */
const placed = (rows: readonly { app_id: string; day: string; offset: number }[]) =>
  rows.map(({ offset, ...row }) => ({ ...row, key_day: row.day, event_key: '1', record: { offset }, from: 0, to: 0 }))

/** Rows of an app, spread over the days up to the last. */
const stored = { days: 10_000, rows: 200_000, last: '2026-06-01' }

test('a repeated batch with an old event of one app reads a few days of the other', async () => {
  const [app_id, other] = [`app_${randomUUID()}`, `app_${randomUUID()}`]
  await clickhouse.insertEvents([testEventRow({ app_id: other, ts_ms: Date.UTC(2010, 0, 1) })], randomUUID())
  await clickhouse.command(
    `INSERT INTO events_raw_v1 (app_id, day, install_uuid, event_name, topic, partition, offset)
     SELECT '${app_id}', toDate('${stored.last}') - number % ${stored.days}, toString(number), 'level_up', 'log@a', 0, number
     FROM numbers(${stored.rows})`,
  )
  const rows = placed([
    { app_id, day: stored.last, offset: 0 },
    { app_id, day: stored.last, offset: stored.rows },
    { app_id: other, day: '2010-01-01', offset: stored.rows + 1 },
  ])
  const statements: string[] = []
  const watched = {
    ...clickhouse,
    query<Found>(sql: string) {
      statements.push(sql)
      return clickhouse.query<Found>(sql)
    },
  }
  const range = { source: 'log@a', partition: 0, from: 0, to: stored.rows + 1 }
  expect(await findLanded(watched, rows, range)).toEqual(rows.slice(0, 1))
  const [read] = await clickhouse.query<{ rows: number }>(`EXPLAIN ESTIMATE ${statements[0]}`)
  expect(read!.rows).toBeLessThan(stored.rows / 5)
})

test('rows on more days of apps than one statement takes are found', async () => {
  const apps = Array.from({ length: 101 }, (_, n) => `app_${n}_${randomUUID()}`)
  const days = Array.from({ length: 101 }, (_, n) => new Date(Date.UTC(2020, 0, n + 1)).toISOString().slice(0, 10))
  const rows = placed(apps.flatMap((app_id, n) => days.map((day, d) => ({ app_id, day, offset: n * 101 + d }))))
  const values = rows.map(({ app_id, day, record }) => `('${app_id}','${day}',${record.offset})`)
  await clickhouse.command(
    `INSERT INTO events_raw_v1 (app_id, day, topic, partition, offset)
     SELECT app_id, day, 'log@many', 0, offset
     FROM values('app_id String, day Date, offset UInt64', ${values.filter((_, n) => n % 2 === 0).join(',')})`,
  )
  const found = await findLanded(clickhouse, rows, { source: 'log@many', partition: 0, from: 0, to: rows.length })
  expect(found).toEqual(rows.filter((_, n) => n % 2 === 0))
})
