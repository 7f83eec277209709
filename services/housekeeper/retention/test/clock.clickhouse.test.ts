import { gunzipSync } from 'node:zlib'
import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { changeCompany, createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { retentionJob } from '../src/retention-job.ts'
import { after, dayOf, first_ms, storeDays } from './stored-days.ts'

let postgres: TestPostgres
let clickhouse: TestClickhouse
beforeAll(async () => {
  ;[postgres, clickhouse] = await Promise.all([openTestPostgres(), openTestClickhouse()])
})
afterAll(() => Promise.all([postgres.close(), clickhouse.close()]))
beforeEach(() => postgres.pool.query('DELETE FROM retention_runs'))

const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
const clock = { ms: first_ms }
const audit = memoryAuditStore()

/** The job of a process; a restart is another one. */
function openJob(engine: Pick<TestClickhouse, 'query'> = clickhouse) {
  const registry = new Registry()
  const job = retentionJob({
    ...{ pool: postgres.pool, clickhouse: { ...clickhouse, ...engine }, audit, registry, now: () => clock.ms },
    broker: memoryBroker(1, () => clock.ms),
    wait_ms: 20,
    pause: async () => {},
    logger: pino({ level: 'silent' }),
  })
  return {
    /** Whether it ran, by what it says that it ended. */
    async at(ms: number): Promise<boolean> {
      clock.ms = ms
      await job(new AbortController().signal)
      const { rows } = await postgres.pool.query(
        'SELECT 1 FROM retention_runs WHERE ended_at = to_timestamp($1 / 1000.0)',
        [ms],
      )
      return rows.length > 0
    },
    /** What the alert looks at. */
    ended: async () =>
      (await registry.getSingleMetric('tributary_retention_ended_seconds')!.get()).values[0]!.value * 1000,
  }
}

const objectsWithAddresses = (app_id: string) =>
  [...audit.objects].filter(([key, content]) => {
    const text = (key.endsWith('.gz') ? gunzipSync(content) : content).toString()
    return key.includes(app_id) && text.includes('203.0.113')
  }).length

for (const [name, jump_ms] of Object.entries({ hour: hour_ms, day: day_ms, month: 30 * day_ms })) {
  for (const restarted of [false, true]) {
    const how = restarted ? 'over a restart' : 'while it runs'
    test(`a run of a clock that was ahead by a ${name} stops neither the nights nor their alert, ${how}`, async () => {
      const night = after(400) + 3 * hour_ms
      const ahead = openJob()
      expect(await ahead.at(night)).toBe(true)
      await ahead.at(night + 2 * hour_ms + jump_ms)
      const job = restarted ? openJob() : ahead
      await job.at(night + 4 * hour_ms)
      expect(await job.ended(), 'the alert sees no run in the future').toBeLessThanOrEqual(night + 4 * hour_ms + 60_000)
      for (const nights of [1, 2, 3]) expect(await job.at(night + nights * day_ms), `night ${nights}`).toBe(true)
      expect(await job.ended()).toBe(night + 3 * day_ms)
    })
  }
}

test.each([1, 2, 5])(
  'no night is left out after a clock that was ahead by %i whole days as a night began',
  async (days) => {
    const night = after(450) + 3 * hour_ms
    const job = openJob()
    expect(await job.at(night + days * day_ms)).toBe(true)
    for (let n = 0; n <= days + 1; n += 1) expect(await job.at(night + n * day_ms + 5000), `night ${n}`).toBe(true)
  },
)

test('marks that a clock ahead put on the next day go back: what the day still brings is blanked, found and counted', async () => {
  const request = { actor: 'test', request_id: 'r', now_ms: first_ms }
  const { company_id } = await createCompany(postgres.pool, { name: 'D', plan: 'free' }, request)
  const input = { company_id, name: 'Game', platform: 'android' as const }
  const { app_id } = await createApp(postgres.pool, masterKeys, input, request)
  await changeCompany(postgres.pool, company_id, { keep_ip_days: 3, keep_click_days: 3, keep_raw_days: 3 }, request)
  const job = openJob()
  const night = (day: number) => after(day) + 3 * hour_ms
  expect(await job.at(night(1001)), 'the clock is right').toBe(true)
  expect(await job.at(night(1006)), 'on day 1002').toBe(true)
  await storeDays({ clickhouse, audit }, { company_id, app_id }, [1002])
  expect(await job.at(night(1003))).toBe(true)
  const marks = await postgres.pool.query(
    `SELECT clicks_deleted_before::text AS clicks, addresses_blanked_before::text AS addresses
     FROM companies WHERE company_id = $1`,
    [company_id],
  )
  expect(marks.rows).toEqual([{ clicks: dayOf(1002), addresses: dayOf(1000) }])
  const [raw] = await clickhouse.query<{ on: string }>(
    `SELECT toString(argMax(expired_before, number)) AS on FROM raw_expired_v1 WHERE app_id = '${app_id}'`,
  )
  expect(raw!.on <= dayOf(1002)).toBe(true)
  expect(objectsWithAddresses(app_id)).toBeGreaterThan(0)
  await job.at(night(1006) + hour_ms)
  expect(objectsWithAddresses(app_id)).toBe(0)
})

test('a clock that was behind runs once for its day, and the nights go on when it is right again', async () => {
  const night = after(500) + 3 * hour_ms
  const job = openJob()
  expect(await job.at(night)).toBe(true)
  await job.at(night - day_ms)
  await job.at(night + hour_ms)
  expect(await job.at(night + 2 * hour_ms)).toBe(false)
  expect(await job.at(night + day_ms)).toBe(true)
})

test('what comes after a clock that was ahead is kept and blanked in its time', async () => {
  const request = { actor: 'test', request_id: 'r', now_ms: first_ms }
  const { company_id } = await createCompany(postgres.pool, { name: 'A', plan: 'free' }, request)
  const input = { company_id, name: 'Game', platform: 'android' as const }
  const { app_id } = await createApp(postgres.pool, masterKeys, input, request)
  await changeCompany(postgres.pool, company_id, { keep_ip_days: 3, keep_click_days: 10, keep_raw_days: 10 }, request)
  const job = openJob()
  await job.at(after(30) + 3 * hour_ms)
  await job.at(after(90) + 3 * hour_ms)
  await storeDays({ clickhouse, audit }, { company_id, app_id }, [31, 32])
  const daysIn = async (table: string) => {
    const rows = await clickhouse.query<{ on: string }>(
      `SELECT DISTINCT toString(day) AS on FROM ${table} WHERE app_id = '${app_id}' ORDER BY on`,
    )
    return rows.map(({ on }) => on)
  }
  expect(objectsWithAddresses(app_id)).toBeGreaterThan(0)
  await job.at(after(35) + 3 * hour_ms)
  const expired = await clickhouse.query(
    `SELECT toString(argMax(expired_before, number)) AS on FROM raw_expired_v1 WHERE app_id = '${app_id}'`,
  )
  // Raw events of the days since are all there.
  expect(expired).toEqual([{ on: expect.toSatisfy((on: string) => on < dayOf(31)) }])
  await storeDays({ clickhouse, audit }, { company_id, app_id }, [36])
  await job.at(after(40) + 3 * hour_ms)
  expect(objectsWithAddresses(app_id)).toBe(0)
  expect(await daysIn('events_raw_v1')).toContain(dayOf(36))
  expect(await daysIn('clicks_raw_v1')).toContain(dayOf(36))
  await job.at(after(47) + 3 * hour_ms)
  expect(await daysIn('events_raw_v1')).toEqual([])
  const { rows } = await postgres.pool.query(
    'SELECT clicks_deleted_before::text AS day FROM companies WHERE company_id = $1',
    [company_id],
  )
  expect(rows).toEqual([{ day: dayOf(37) }])
})

test('the mark of deleted clicks goes back from the future to no day whose clicks a run ahead has deleted', async () => {
  const request = { actor: 'test', request_id: 'r', now_ms: first_ms }
  const { company_id } = await createCompany(postgres.pool, { name: 'B', plan: 'free' }, request)
  const input = { company_id, name: 'Game', platform: 'android' as const }
  const { app_id } = await createApp(postgres.pool, masterKeys, input, request)
  await changeCompany(postgres.pool, company_id, { keep_click_days: 10 }, request)
  const job = openJob()
  const markOf = async () => {
    const sql = 'SELECT clicks_deleted_before::text AS day FROM companies WHERE company_id = $1'
    return (await postgres.pool.query<{ day: string }>(sql, [company_id])).rows[0]!.day
  }
  await storeDays({ clickhouse, audit }, { company_id, app_id }, [595, 598])
  await job.at(after(700) + 3 * hour_ms)
  expect(await markOf()).toBe(dayOf(690))
  await storeDays({ clickhouse, audit }, { company_id, app_id }, [600])
  const deleting: TestClickhouse['query'] = async <Row>(sql: string, params?: Record<string, unknown>) =>
    sql.includes('system.mutations') && sql.includes("'clicks_raw_v1'")
      ? ([{ left: 1 }] as Row[])
      : clickhouse.query<Row>(sql, params)
  await openJob({ query: deleting }).at(after(601) + 2 * hour_ms)
  expect(await markOf(), 'clicks that are still to be deleted are not there').toBe(dayOf(690))
  await postgres.pool.query('DELETE FROM retention_runs')
  await job.at(after(601) + 3 * hour_ms)
  expect(await markOf()).toBe(dayOf(600))
  await job.at(after(612) + 3 * hour_ms)
  expect(await markOf()).toBe(dayOf(602))
})

test('without any click the mark of deleted clicks goes back from the future to today', async () => {
  const request = { actor: 'test', request_id: 'r', now_ms: first_ms }
  const { company_id } = await createCompany(postgres.pool, { name: 'C', plan: 'free' }, request)
  await createApp(postgres.pool, masterKeys, { company_id, name: 'Game', platform: 'android' }, request)
  await changeCompany(postgres.pool, company_id, { keep_click_days: 10 }, request)
  const job = openJob()
  await job.at(after(900) + 3 * hour_ms)
  await job.at(after(801) + 3 * hour_ms)
  const sql = 'SELECT clicks_deleted_before::text AS day FROM companies WHERE company_id = $1'
  expect((await postgres.pool.query(sql, [company_id])).rows).toEqual([{ day: dayOf(801) }])
})
