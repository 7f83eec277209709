import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventRowColumns } from '@tributary/contracts/rows'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { migrateClickhouse } from '../../src/schema/migrate.ts'
import { migrationsDir } from '../../src/schema/migration-files.ts'

let clickhouse: TestClickhouse
let dir: string
beforeEach(async () => {
  clickhouse = await openTestClickhouse({ migrated: false })
  dir = await mkdtemp(join(tmpdir(), 'tributary-earlier-'))
})
afterEach(async () => {
  await clickhouse.close()
  await rm(dir, { recursive: true, force: true })
})

/** The migrations before the correction of events (docs/adr/0490). */
async function migrateEarlier(): Promise<void> {
  for (const file of await readdir(migrationsDir))
    if (Number(file.slice(0, 4)) < 170) await cp(join(migrationsDir, file), join(dir, file))
  await migrateClickhouse({ clickhouse, dir })
}

const midnight = Date.UTC(2026, 5, 2)
const purchase = { app_id: 'app_1', install_uuid: 'i', revenue_micros: '5', currency: 'USD' }

test('events from before corrections keep their time, also when a batch of them comes again or joins later ones', async () => {
  await migrateEarlier()
  const earlier = testEventRow({ ...purchase, ts_ms: midnight + 7 })
  const columns = eventRowColumns.filter((name) => name !== 'correction_ms')
  const insertEarlier = () =>
    clickhouse.insert({
      ...{ table: 'events_raw_v1', columns, token: 'earlier' },
      lines: JSON.stringify(columns.map((column) => earlier[column])),
    })
  await insertEarlier()
  await clickhouse.command(
    `INSERT INTO settled_payments_v1 (app_id, day, stamp, \`events.ts_ms\`, \`events.micros\`) VALUES ('app_1', '2026-06-02', 1, [1, 2], [5, 6])`,
  )
  await migrateClickhouse({ clickhouse })
  await insertEarlier()
  // By a clock that was 9 ms slow: its own day is before midnight.
  await clickhouse.insertEvents([testEventRow({ ...purchase, ts_ms: midnight - 5, correction_ms: 9 })], 'later')
  await clickhouse.insertEvents([testEventRow({ ...purchase, ts_ms: midnight + 8 })], 'last')
  await clickhouse.command('OPTIMIZE TABLE activity_by_day_v1 FINAL')
  expect(
    await clickhouse.query(
      'SELECT toString(day) AS on, event_shift, min_ts_ms, max_ts_ms FROM activity_by_day_v1 ORDER BY event_shift',
    ),
  ).toEqual([
    { on: '2026-06-02', event_shift: -1, min_ts_ms: midnight + 4, max_ts_ms: midnight + 4 },
    { on: '2026-06-02', event_shift: 0, min_ts_ms: midnight + 7, max_ts_ms: midnight + 8 },
  ])
  expect(await clickhouse.query('SELECT ts_ms, correction_ms FROM revenue_raw_v1 ORDER BY ts_ms')).toEqual([
    { ts_ms: midnight - 5, correction_ms: 9 },
    { ts_ms: midnight + 7, correction_ms: 0 },
    { ts_ms: midnight + 8, correction_ms: 0 },
  ])
  const [payments] = await clickhouse.query('SELECT `events.correction_ms` AS corrections FROM settled_payments_v1')
  expect(payments).toEqual({ corrections: [0, 0] })
})
