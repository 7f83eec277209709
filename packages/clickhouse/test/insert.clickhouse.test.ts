import { randomUUID } from 'node:crypto'
import { stampSources } from '@tributary/contracts/report-tables'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, expect, test } from 'vitest'

const day_ms = 24 * 3600 * 1000
let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

const events = (count: number, app_id = randomUUID()) =>
  Array.from({ length: count }, (_, index) =>
    testEventRow({
      app_id,
      ts_ms: Date.UTC(2026, 0, 1 + (index % 3), index % 24),
      install_uuid: `install-${index % 7}`,
      event_name: index % 2 === 0 ? 'level_up' : 'purchase',
      ...(index % 2 === 1 && { revenue_micros: `${index * 1_000_000}`, currency: index % 3 === 0 ? 'EUR' : 'USD' }),
    }),
  )

test('the roll-ups equal a naive count of the rows', async () => {
  const app_id = randomUUID()
  await clickhouse.insertEvents(events(100, app_id), randomUUID())
  await clickhouse.insertEvents(events(57, app_id), randomUUID())
  const where = `WHERE app_id = '${app_id}' GROUP BY ALL ORDER BY ALL`
  const naive = {
    perDay: `SELECT day, event_name, currency, count() AS events, toString(sum(revenue_micros)) AS micros FROM events_raw_v1 ${where}`,
    installs: `SELECT day, event_name, uniqExact(install_uuid) AS installs FROM events_raw_v1 ${where}`,
    activity: `SELECT sipHash64(install_uuid) AS install_key, day, min(ts_ms) AS first, max(ts_ms) AS last FROM events_raw_v1 ${where}`,
    keys: `SELECT key_day, event_key, topic, partition, offset FROM events_raw_v1 ${where}`,
  }
  const rolledUp = {
    perDay: `SELECT day, event_name, currency, sum(events) AS events, toString(sum(revenue_micros)) AS micros FROM events_per_day_v1 ${where}`,
    installs: `SELECT day, event_name, uniqExactMerge(installs) AS installs FROM event_installs_per_day_v1 ${where}`,
    activity: `SELECT install_key, day, min(min_ts_ms) AS first, max(max_ts_ms) AS last FROM activity_by_day_v1 ${where}`,
    keys: `SELECT key_day, event_key, topic, partition, offset FROM event_keys_v1 ${where}`,
  }
  for (const name of ['installs', 'activity', 'keys'] as const) {
    const rows = await clickhouse.query(naive[name])
    expect(rows.length).toBeGreaterThan(5)
    expect(await clickhouse.query(rolledUp[name])).toEqual(rows)
  }
  // A sum over nothing but nulls is null in the rows and 0 in the roll-up.
  const perDay = await clickhouse.query<{ micros: string | null }>(naive.perDay)
  expect(await clickhouse.query(rolledUp.perDay)).toEqual(perDay.map((row) => ({ ...row, micros: row.micros ?? '0' })))
})

test('the same token twice changes no table and no view, also after other inserts and at the same time', async () => {
  const rows = events(50)
  const token = randomUUID()
  await clickhouse.insertEvents(rows, token)
  await clickhouse.insertEvents(events(50), randomUUID())
  const before = await clickhouse.readEventTables()
  await clickhouse.insertEvents(rows, token)
  expect(await clickhouse.readEventTables()).toEqual(before)

  const raced = randomUUID()
  const more = events(50)
  await Promise.all([clickhouse.insertEvents(more, raced), clickhouse.insertEvents(more, raced)])
  const after = await clickhouse.readEventTables()
  expect(after.events_raw_v1).toHaveLength(before.events_raw_v1!.length + 50)
  expect(after.event_keys_v1).toHaveLength(before.event_keys_v1!.length + 50)
})

test('the same rows under another token are other rows', async () => {
  const rows = events(5)
  const before = await clickhouse.readEventTables()
  await clickhouse.insertEvents(rows, randomUUID())
  await clickhouse.insertEvents(rows, randomUUID())
  const after = await clickhouse.readEventTables()
  expect(after.events_raw_v1).toHaveLength(before.events_raw_v1!.length + 10)
})

test('a view that fails half-way is repaired by a retry with the same token', async () => {
  // The view reads its verdict from a table, so that it can be mended between two tries. It is not the first one.
  await clickhouse.command('CREATE TABLE broken (yes UInt8) ENGINE = MergeTree ORDER BY yes')
  await clickhouse.command(`INSERT INTO broken VALUES (1)`)
  await clickhouse.command(`CREATE MATERIALIZED VIEW failing_mv_v1 TO events_per_day_v1 AS
    SELECT app_id, day, 'copy' AS event_name, '' AS currency, count() AS events,
      toInt128(throwIf((SELECT max(yes) FROM broken) = 1, 'broken view')) AS revenue_micros
    FROM events_raw_v1 GROUP BY app_id, day`)
  const app_id = randomUUID()
  const rows = events(60, app_id)
  const token = randomUUID()
  await expect(clickhouse.insertEvents(rows, token)).rejects.toThrow(/broken view/)
  await expect(clickhouse.insertEvents(rows, token)).rejects.toThrow(/broken view/)
  await clickhouse.command('TRUNCATE TABLE broken')
  await clickhouse.command(`INSERT INTO broken VALUES (0)`)
  await clickhouse.insertEvents(rows, token)
  await clickhouse.insertEvents(rows, token)
  await clickhouse.command('DROP TABLE failing_mv_v1')

  const count = (sql: string) =>
    clickhouse.query<{ n: number }>(`${sql} WHERE app_id = '${app_id}'`).then(([row]) => row!.n)
  expect(await count('SELECT count() AS n FROM events_raw_v1')).toBe(60)
  expect(await count('SELECT count() AS n FROM event_keys_v1')).toBe(60)
  expect(await count(`SELECT sumIf(events, event_name != 'copy') AS n FROM events_per_day_v1`)).toBe(60)
  expect(await count(`SELECT sumIf(events, event_name = 'copy') AS n FROM events_per_day_v1`)).toBe(60)
})

test('a batch of days from 2010 to tomorrow is one block in every table', async () => {
  const app_id = randomUUID()
  const rows = Array.from({ length: 6000 }, (_, day) =>
    testEventRow({ app_id, ts_ms: Date.UTC(2010, 0, 1) + day * day_ms }),
  )
  await clickhouse.command('SYSTEM STOP MERGES')
  const parts = () =>
    clickhouse.query<{ table: string; parts: number }>(
      `SELECT table, count() AS parts FROM system.parts WHERE active AND database = currentDatabase() GROUP BY table`,
    )
  const before = new Map((await parts()).map((row) => [row.table, row.parts]))
  await clickhouse.insertEvents(rows, randomUUID())
  for (const { table, parts: count } of await parts()) {
    // Each view behind the data inserts stamps of its own.
    const most = table === 'events_raw_v1' ? 17 : table === 'report_stamps_v1' ? stampSources.length : 1
    if (table.endsWith('_v1')) expect(count - (before.get(table) ?? 0), table).toBeLessThanOrEqual(most)
  }
  await clickhouse.command('SYSTEM START MERGES')
})

test('a row that does not fit its table fails the insert, and nothing of it is stored', async () => {
  const rows = events(3)
  const before = await clickhouse.readEventTables()
  await expect(clickhouse.insertEvents([...rows, { ...rows[0]!, event_key: 'x' }], randomUUID())).rejects.toThrow(
    /at row 4/,
  )
  await expect(
    clickhouse.insertEvents([{ ...rows[0]!, event_name: null as unknown as string }], randomUUID()),
  ).rejects.toThrow()
  expect(await clickhouse.readEventTables()).toEqual(before)
})

test('texts come back as they were stored', async () => {
  const app_id = randomUUID()
  const event_name = `it's "quoted" \\ back\\\\slash {x:String} ' OR 1=1 -- é 🎉`
  await clickhouse.insertEvents(
    [testEventRow({ app_id, ts_ms: Date.UTC(2026, 0, 1), event_name, props: '{"a":"\\u0000\\n"}' })],
    `token with ' and \\ and ${randomUUID()}`,
  )
  const rows = await clickhouse.query(
    'SELECT event_name, props FROM events_raw_v1 WHERE app_id = {app_id:String} AND event_name = {event_name:String}',
    { app_id, event_name },
  )
  expect(rows).toEqual([{ event_name, props: '{"a":"\\u0000\\n"}' }])
})

test('a large block stays one block in each view, so that a retry knows all of it', async () => {
  const app_id = randomUUID()
  const rows = Array.from({ length: 150_000 }, (_, index) =>
    testEventRow({ app_id, ts_ms: Date.UTC(2026, 5, 1), install_uuid: `i${index}`, event_id: 'e' }),
  )
  await clickhouse.command('SYSTEM STOP MERGES')
  await clickhouse.insertEvents(rows, randomUUID())
  const parts = await clickhouse.query<{ table: string; rows: number }>(`
    SELECT table, rows FROM system.parts
    WHERE active AND database = currentDatabase() AND rows > 20000 ORDER BY table`)
  expect(parts).toEqual([
    { table: 'activity_by_day_v1', rows: 150_000 },
    { table: 'event_keys_v1', rows: 150_000 },
    { table: 'events_raw_v1', rows: 150_000 },
  ])
  await clickhouse.command('SYSTEM START MERGES')
})
