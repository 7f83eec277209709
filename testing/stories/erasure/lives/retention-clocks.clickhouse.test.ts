import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { raw_events_lock } from '@tributary/erasure/raw-events-lock'
import { unlessRunning } from '@tributary/postgres/one-at-a-time'
import { runRetention } from '@tributary/retention/run-retention'
import { readRawExpired } from '@tributary/tables/events/raw-expired'
import { repairTables } from '@tributary/tables/repair/repair-tables'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ErasureStage, Killed, openErasureStage, sentEvent, mark_ms as stage_mark_ms } from '../stage.ts'
import { rowsByInstall } from './rows-by-install.ts'

const day0 = Date.parse(utcDay(stage_mark_ms))
const mark_ms = day0 + 15 * hour_ms

let stage: ErasureStage
beforeAll(async () => {
  stage = await openErasureStage()
})
afterAll(() => stage.close())

async function makeApp(keep_raw_days: number): Promise<string> {
  const app_id = await stage.makeApp()
  await stage.pool.query(
    'UPDATE companies SET keep_raw_days = $2 WHERE company_id = (SELECT company_id FROM apps WHERE app_id = $1)',
    [app_id, keep_raw_days],
  )
  return app_id
}
async function retain(now_ms: number, clickhouse: Clickhouse = stage.clickhouse): Promise<void> {
  const deps = {
    ...{ pool: stage.pool, clickhouse, audit: memoryAuditStore(), now: () => now_ms },
    ...{ broker: memoryBroker(1, () => now_ms), wait_ms: 20, pause: async () => {}, logger: pino({ level: 'silent' }) },
  }
  await runRetention(deps, new AbortController().signal)
}
const rowsOf = (app_id: string, install_uuid: string) => rowsByInstall(stage.clickhouse, app_id, install_uuid)
const at = (ms: number) => ({ received_at_ms: ms, event_ts_ms: ms })
const paid = (transaction_id: string) => ({ event_name: 'purchase', revenue: 5, transaction_id })
const write = (app_id: string, ...events: ReturnType<typeof sentEvent>[]) =>
  stage.write({ events, decisions: [] }, [app_id])

const counted = async (app_id: string) => {
  const [row] = await stage.clickhouse.query<{ events: number; micros: string }>(
    `SELECT toUInt32(sum(events)) AS events, toString(sum(revenue_micros)) AS micros FROM events_per_day_v1 WHERE app_id = '${app_id}'`,
  )
  return row!
}

test('a start after a retention ahead keeps the sums of an event that was dated ahead', async () => {
  const app_id = await makeApp(1)
  const ahead = sentEvent('a', {
    received_at_ms: mark_ms - 5,
    event_ts_ms: mark_ms + day_ms / 2,
    source: 's2s',
    ...paid('t'),
  })
  await write(app_id, ahead)
  const before = { ...(await counted(app_id)), rows: await rowsOf(app_id, 'a') }
  await retain(mark_ms + 5 * day_ms)
  await retain(day0 + day_ms + 3 * hour_ms)
  const { events_raw_v1: _raw, ...left } = before.rows
  expect({ ...(await counted(app_id)), rows: await rowsOf(app_id, 'a') }).toEqual({ ...before, rows: left })
  const logger = { info() {}, error() {} }
  const repair = await repairTables({ clickhouse: stage.clickhouse, goesOn: [], logger, beforeRefill: async () => {} })
  expect.soft(repair.refilled).toEqual([])
  expect({ ...(await counted(app_id)), rows: await rowsOf(app_id, 'a') }).toEqual({ ...before, rows: left })
})

test('what comes after the clock was corrected, on the day of the run, is kept 30 days', async () => {
  const app_id = await makeApp(30)
  await retain(day0 + 60 * day_ms + 10 * hour_ms) // 10:00, clock 60 days ahead
  await write(app_id, sentEvent('a', { ...at(day0 + 12 * hour_ms), ...paid('t12') })) // 12:00, clock right
  await retain(day0 + day_ms + 3 * hour_ms) // the next night
  expect(await rowsOf(app_id, 'a')).toMatchObject({ events_raw_v1: 1 })
})

test('no erasure begins while retention deletes raw events: it would take those of a new life for gone', async () => {
  const app_id = await makeApp(1)
  await write(app_id, sentEvent('a', at(mark_ms - day_ms)))
  const begun: unknown[] = []
  const watched: Clickhouse = {
    ...stage.clickhouse,
    async command(sql, ...more) {
      if (sql.includes('ALTER TABLE events_raw_v1 DELETE'))
        begun.push(await unlessRunning(stage.pool, raw_events_lock, async () => 'it runs'))
      return stage.clickhouse.command(sql, ...more)
    },
  }
  await retain(mark_ms + 5 * day_ms, watched)
  expect(begun.length).toBeGreaterThan(0)
  expect(new Set(begun)).toEqual(new Set([null]))
})

const repair = () =>
  repairTables({
    clickhouse: stage.clickhouse,
    goesOn: [],
    logger: { info() {}, error() {} },
    beforeRefill: async () => {},
  })

test('a night that takes marks back on the day of the run ahead, then a start: sums stay', async () => {
  const app_id = await makeApp(1)
  await write(app_id, sentEvent('a', { ...at(day0 + hour_ms), ...paid('e2') }))
  const before = await counted(app_id)
  await retain(day0 + 2 * hour_ms + 5 * day_ms)
  await retain(day0 + 3 * hour_ms)
  expect(await counted(app_id)).toEqual(before)
  await repair()
  expect(await counted(app_id)).toEqual(before)
})

test('a night of a clock behind, then a start: sums of expired days stay', async () => {
  const app_id = await makeApp(30)
  const old = Array.from({ length: 10 }, (_, n) =>
    sentEvent('a', { ...at(day0 - (31 + n) * day_ms + hour_ms), ...paid(`j${n}`) }),
  )
  await write(app_id, ...old)
  await retain(day0 + 3 * hour_ms)
  const before = {
    ...(await counted(app_id)),
    rows: await rowsOf(app_id, 'a'),
    expired: (await readRawExpired(stage.clickhouse)).get(app_id),
  }
  expect((await repair()).refilled).toEqual([])
  // A machine that booted with the clock of a dead battery.
  await retain(Date.UTC(2020, 0, 1))
  await repair() // the clock is right again, the next start
  const after = {
    ...(await counted(app_id)),
    rows: await rowsOf(app_id, 'a'),
    expired: (await readRawExpired(stage.clickhouse)).get(app_id),
  }
  expect.soft(after).toEqual(before)
  await retain(day0 + day_ms + 3 * hour_ms)
  expect({ ...(await counted(app_id)), rows: await rowsOf(app_id, 'a') }).toEqual({
    events: before.events,
    micros: before.micros,
    rows: before.rows,
  })
})

test('retention between a kill of the eraser and its next start: uniques agree with events', async () => {
  const app_id = await makeApp(1)
  const x_ms = day0 - day_ms + hour_ms
  await write(app_id, sentEvent('gone', at(x_ms)), sentEvent('kept', at(x_ms)))
  await stage.request(app_id, ['gone'])
  const atStep = (step: string) => {
    if (step.startsWith('delete ')) throw new Killed('')
  }
  await expect(stage.run({ now: () => mark_ms, atStep })).rejects.toThrow(Killed)
  await retain(day0 + day_ms + 3 * hour_ms)
  await stage.run({ now: () => mark_ms })
  expect(await stage.certificate(app_id, 'gone')).toMatchObject({ state: 'completed' })
  const report = (await stage.ask('events', app_id, { since_ms: day0 - day_ms, until_ms: day0 } as never)).rows
  expect(report).toMatchObject([{ events: 1, unique_installs: 1 }])
})

test.each(['before', 'behind'])('a crash %s the row that takes a mark back loses no mark', async (when) => {
  const app_id = await makeApp(30)
  await write(app_id, sentEvent('a', { ...at(day0 - 9 * day_ms), ...paid('m') }))
  const before = await counted(app_id)
  await retain(day0 + 2 * hour_ms + 60 * day_ms)
  const dying: Clickhouse = {
    ...stage.clickhouse,
    async insert(given) {
      if (given.table !== 'raw_expired_v1') return stage.clickhouse.insert(given)
      if (when === 'behind') await stage.clickhouse.insert(given)
      await stage.clickhouse.command('OPTIMIZE TABLE raw_expired_v1 FINAL')
      throw new Killed(when)
    },
  }
  await expect(retain(day0 + 3 * hour_ms, dying)).rejects.toThrow(Killed)
  await retain(day0 + 3 * hour_ms) // goes on
  await repair()
  expect(await counted(app_id)).toEqual(before)
  expect((await readRawExpired(stage.clickhouse)).get(app_id)).toBe(utcDay(day0 - 8 * day_ms))
})
