import { openPostgres } from '@tributary/postgres/postgres'
import { openPostgresProxy } from '@tributary/postgres/test/postgres-proxy'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { loadFxRates, openFxRates } from '../src/fx-rates.ts'

const request = { actor: 'test', request_id: 'r', now_ms: Date.UTC(2026, 2, 1) }

let db: TestPostgres
beforeAll(async () => {
  db = await openTestPostgres()
})
afterAll(() => db.close())
beforeEach(() => db.pool.query('TRUNCATE fx_rates'))

const rate = (day: string, currency: string, units: string) => ({ day, currency, units })
const week = [
  rate('2026-03-06', 'USD', '1.1600'),
  rate('2026-03-05', 'USD', '1.15'),
  rate('2026-03-05', 'JPY', '180.5'),
  rate('2026-03-04', 'JPY', '179'), // a day without USD: nothing can be turned into it
  rate('2026-03-03', 'USD', '1.14'),
  rate('2026-03-03', 'GBP', '0.85'),
]
const stored = async () =>
  (await db.pool.query('SELECT day::text, currency, units_per_eur::text AS units FROM fx_rates ORDER BY 1, 2')).rows
const loads = async () =>
  (await db.pool.query(`SELECT detail FROM admin_audit_log WHERE subject = 'fx_rates' ORDER BY id`)).rows

test('a load says what it held; a second one changes and logs nothing; a corrected rate takes the place of the old', async () => {
  const loaded = { days: 4, currencies: 3, rates: 6, from: '2026-03-03', to: '2026-03-06' }
  expect(await loadFxRates(db.pool, week, request)).toEqual(loaded)
  const before = await stored()
  expect(before).toHaveLength(6)
  expect(await loadFxRates(db.pool, week.toReversed(), request)).toEqual(loaded)
  expect(await stored()).toEqual(before)
  expect(await loads()).toEqual([{ detail: { ...loaded, changed: 6 } }])

  await loadFxRates(db.pool, [rate('2026-03-05', 'USD', '1.155')], request)
  expect(await stored()).toEqual(
    before.map((row) => (row.day === '2026-03-05' && row.currency === 'USD' ? { ...row, units: '1.155' } : row)),
  )
})

test('two loads at once both succeed, whatever their order', async () => {
  const many = Array.from({ length: 3000 }, (_, n) =>
    rate(new Date(Date.UTC(2010, 0, 1 + n)).toISOString().slice(0, 10), 'USD', '1.1'),
  )
  await Promise.all([loadFxRates(db.pool, many, request), loadFxRates(db.pool, many.toReversed(), request)])
  expect(await stored()).toHaveLength(3000)
})

test('a load is whole or not at all', async () => {
  const broken = [...week, rate('2026-03-06', 'usd', '1')]
  await expect(loadFxRates(db.pool, broken, request)).rejects.toThrow()
  expect(await stored()).toEqual([])
})

test('the rate of a day is its own or the last before it that has USD too, none before the first', async () => {
  await loadFxRates(db.pool, week, request)
  const asks = ['2026-03-02', '2026-03-03', '2026-03-04', '2026-03-05', '2026-03-06', '2030-01-01'].flatMap((day) =>
    ['JPY', 'GBP', 'EUR', 'ARS'].map((currency) => ({ day, currency })),
  )
  const rateOf = await openFxRates({ pool: db.pool, now: () => 0 }).find(asks)
  const gbp = { usd: '1.14', units: '0.85' }
  const jpy = { usd: '1.15', units: '180.5' }
  const eur = (usd: string) => ({ usd, units: '1' })
  expect(asks.map(rateOf)).toEqual([
    ...[null, null, null, null], //             before the first
    ...[null, gbp, eur('1.14'), null],
    ...[null, gbp, eur('1.14'), null], //       JPY of that day has no USD beside it
    ...[jpy, gbp, eur('1.15'), null],
    ...[jpy, gbp, eur('1.1600'), null],
    ...[jpy, gbp, eur('1.1600'), null],
  ])
})

test('a load is known within two seconds, and while PostgreSQL is away the last rates go on for ten minutes', async () => {
  const proxy = await openPostgresProxy(db.url)
  const pool = openPostgres({ url: proxy.url, pool_max: 2, statement_timeout_ms: 1_000, connect_timeout_ms: 1_000 })
  onTestFinished(async () => {
    proxy.repair()
    await pool.end()
    await proxy.close()
  })
  let now_ms = 0
  const fxRates = openFxRates({ pool, now: () => now_ms })
  const ask = { day: '2026-03-05', currency: 'EUR' }
  const find = async () => (await fxRates.find([ask]))(ask)
  expect(await find()).toBeNull()
  await loadFxRates(db.pool, week, request)
  now_ms += 2_000
  expect(await find()).toEqual({ usd: '1.15', units: '1' })

  proxy.cut()
  now_ms += 10 * 60_000
  expect(await find()).toEqual({ usd: '1.15', units: '1' })
  await expect(fxRates.find([{ day: '2026-03-05', currency: 'JPY' }])).rejects.toMatchObject({ code: 'unavailable' })
  now_ms += 1
  await expect(find()).rejects.toMatchObject({ code: 'unavailable' })
  proxy.repair()
  expect(await find()).toEqual({ usd: '1.15', units: '1' })
})
