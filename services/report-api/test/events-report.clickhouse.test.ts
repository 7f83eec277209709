import { randomUUID } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import { markRawExpired } from '@tributary/tables/events/raw-expired'
import { testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { expectedReports } from '@tributary/testing/oracle/expected-reports'
import { eurRates, type Rate, type SentEvent } from '@tributary/testing/oracle/history'
import { roundsOf } from '@tributary/testing/rounds'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { limitStatements } from '../src/turns/statement-limits.ts'
import { openReports, type Query, type Reports } from './report-stage.ts'

const hour_ms = 3600 * 1000
const day_ms = 24 * hour_ms
const march = (day: number, ms = 0) => Date.UTC(2026, 2, day) + ms

/** EUR and GBP, and none before 3 March. */
const rates: Rate[] = [
  { day: '2026-03-03', currency: 'EUR', usd_e5: 110_000, units_e5: 100_000 },
  { day: '2026-03-03', currency: 'GBP', usd_e5: 110_000, units_e5: 85_000 },
  { day: '2026-03-05', currency: 'EUR', usd_e5: 120_340, units_e5: 100_000 },
]

let reports: Reports
beforeAll(async () => {
  reports = await openReports({ rateOf: eurRates(rates), now: () => march(20) })
})
afterAll(() => reports.close())

const askReport = (app_id: string, query: Query) => reports.ask('events', app_id, query)
const rowsOf = async (app_id: string, query: Query) =>
  (await askReport(app_id, query)).rows.map((row) => [
    row.day,
    row.event_name,
    row.events,
    row.unique_installs,
    row.revenue_usd,
  ])

test('the report equals a table worked out by hand', async () => {
  const app_id = randomUUID()
  const event = (ts_ms: number, event_name: string, install_uuid: string, money?: [micros: string, currency: string]) =>
    testEventRow({
      app_id,
      ts_ms,
      event_name,
      install_uuid,
      ...(money && { revenue_micros: money[0], currency: money[1] }),
    })
  await reports.clickhouse.insertEvents(
    [
      // 1 March, partly covered: the window begins at 06:00.
      event(march(1, 6 * hour_ms - 1), 'open', 'a'), //                     1 ms too early
      event(march(1, 6 * hour_ms), 'open', 'a'), //                         the first that counts
      event(march(1, 7 * hour_ms), 'open', 'a'),
      event(march(1, 8 * hour_ms), 'purchase', 'a', ['9990000', 'USD']),
      event(march(1, 5 * hour_ms), 'purchase', 'b', ['1000000', 'USD']), // too early
      // 2 March, whole.
      event(march(2), 'open', 'a'),
      event(march(2, day_ms - 1), 'open', 'b'),
      event(march(2), 'Zoo', 'a'), //                                       upper case comes first by bytes
      event(march(2), 'é', 'a'), //                                         beyond ASCII comes last
      event(march(2), 'purchase', 'a', ['9990000', 'USD']),
      event(march(2), 'purchase', 'a', ['5000000', 'EUR']), //              no rate yet: counts, brings no USD
      event(march(2), 'purchase_refunded', 'a', ['-9990000', 'USD']),
      event(march(2), 'zero', 'a', ['0', 'USD']),
      // 3 March has nothing. 4 March, partly covered: the window ends before 12:00.
      event(march(4), 'purchase', 'a', ['5000000', 'EUR']), //              at the rate of 3 March: 5.5
      event(march(4), 'purchase', 'a', ['1000000', 'GBP']), //              1.1 / 0.85 = 1.29411...
      event(march(4, 12 * hour_ms - 1), 'open', 'c'), //                    the last that counts
      event(march(4, 12 * hour_ms), 'open', 'd'), //                        1 ms too late
    ],
    randomUUID(),
  )
  await reports.clickhouse.insertEvents([testEventRow({ app_id: randomUUID(), ts_ms: march(2) })], randomUUID())
  const window = { since_ms: march(1, 6 * hour_ms), until_ms: march(4, 12 * hour_ms) }
  const rows = [
    ['2026-03-01', 'open', 2, 1, 0],
    ['2026-03-01', 'purchase', 1, 1, 9.99],
    ['2026-03-02', 'Zoo', 1, 1, 0],
    ['2026-03-02', 'open', 2, 2, 0],
    ['2026-03-02', 'purchase', 2, 1, 9.99],
    ['2026-03-02', 'purchase_refunded', 1, 1, -9.99],
    ['2026-03-02', 'zero', 1, 1, 0],
    ['2026-03-02', 'é', 1, 1, 0],
    ['2026-03-04', 'open', 1, 1, 0],
    ['2026-03-04', 'purchase', 2, 1, 6.7941],
  ]
  expect(await rowsOf(app_id, window)).toEqual(rows)

  // Pages fit together, whatever their size.
  for (const limit of [1, 2, 4, 10, 11]) {
    const pages = []
    for (let offset = 0; offset < 12; offset += limit) {
      pages.push(...(await rowsOf(app_id, { ...window, limit, offset })))
      const { meta } = await askReport(app_id, { ...window, limit, offset })
      expect([meta.rows, meta.more]).toEqual([rows.length, offset + limit < rows.length])
    }
    expect(pages).toEqual(rows)
  }
  const { meta } = await askReport(app_id, { ...window, limit: 2, offset: 50 })
  const elapsed_ms = expect.toSatisfy(Number.isInteger)
  expect(meta).toEqual({
    ...{ ...window, limit: 2, offset: 50, rows: rows.length, more: false, elapsed_ms, missing_rates: ['EUR'] },
    partial: { first: true, last: true },
  })
})

test('currencies without a rate are told for the whole window, on every page, and counted', async () => {
  const app_id = randomUUID()
  const money = (ts_ms: number, currency: string, revenue_micros = '5000000', event_name = 'purchase') =>
    testEventRow({ app_id, ts_ms, currency, revenue_micros, event_name })
  await reports.clickhouse.insertEvents(
    [
      money(march(1), 'USD'),
      money(march(2), 'EUR'), //               before the first rate of EUR
      money(march(2), 'CHF', '0'), //          an amount of 0 has a currency too
      { ...money(march(2), 'SEK'), revenue_counts: 0 as const }, // lost to another claim: it is no money
      money(march(3), 'EUR'),
      money(march(4), 'XXX', '5000000', 'gift'),
    ],
    randomUUID(),
  )
  const missing = async (query: Query) => (await askReport(app_id, query)).meta.missing_rates
  const all = { since_ms: march(1), until_ms: march(5) }
  expect(await missing(all)).toEqual(['CHF', 'EUR', 'XXX'])
  expect(await missing({ ...all, limit: 1 })).toEqual(['CHF', 'EUR', 'XXX'])
  expect(await missing({ ...all, event_name: ['purchase'] })).toEqual(['CHF', 'EUR'])
  for (const name of ['revenue', 'events'] as const)
    expect((await reports.ask(name, app_id, all)).meta.missing_rates, name).toEqual(['CHF', 'EUR', 'XXX'])
  expect(await missing({ since_ms: march(3, 1), until_ms: march(4, 1) })).toEqual(['XXX'])
  expect((await askReport(app_id, { since_ms: march(1), until_ms: march(2) })).meta).not.toHaveProperty('missing_rates')
  expect(await missing({ since_ms: march(3), until_ms: march(4) })).toBeUndefined()
  expect(await reports.registry.metrics()).toMatch(/tributary_report_missing_rates_total\{currency="XXX"\} 5\n/)
})

test('a filter keeps the rows of its event names and changes nothing of them', async () => {
  const app_id = randomUUID()
  const names = ['open', 'Open', `o'; --`, '{x:String}', 'a,b', `\\'`, '["x"]', 'e\u0301', '\u{1f389}']
  const rows = names.flatMap((event_name) =>
    [1, 2, 3].map((day) =>
      testEventRow({ app_id, ts_ms: march(day, 9), event_name, revenue_micros: '1000000', currency: 'USD' }),
    ),
  )
  await reports.clickhouse.insertEvents(rows, randomUUID())
  await reports.cancel([rows[0]!])
  const window = { since_ms: march(1), until_ms: march(3, 10) } // whole days, and a part of one
  const all = await rowsOf(app_id, window)
  expect(all).toHaveLength(names.length * 3)
  for (const event_name of [...names.map((name) => [name]), ['open', `\\'`, 'none'], ['none']]) {
    const expected = all.filter(([, name]) => event_name.includes(String(name)))
    expect(await rowsOf(app_id, { ...window, event_name })).toEqual(expected)
    const second = await rowsOf(app_id, { ...window, event_name, limit: 1, offset: 1 })
    expect(second).toEqual(expected.slice(1, 2))
  }
})

test('a statement of a report runs under its own limits', async () => {
  const limited = limitStatements(reports.clickhouse, 123_456_789)
  const sql = `SELECT getSetting('max_memory_usage') AS memory, getSetting('max_threads') AS threads,
    getSetting('max_execution_time') AS seconds, {n:UInt8} AS n`
  const settings = { memory: 123_456_789, threads: limits.report_threads_max, seconds: 30, n: 7 }
  expect(await limited.query(sql, { n: 7 })).toMatchObject([settings])
  const heavy = 'SELECT count() FROM (SELECT DISTINCT number FROM numbers({n:UInt64}))'
  const tooLarge = limitStatements(reports.clickhouse, 1_000_000).query(heavy, { n: 5_000_000 })
  await expect(tooLarge).rejects.toMatchObject({ code: 'unavailable' })
  // What it gives has to fit into this process, such as the amounts of a month by day and currency.
  const many = limitStatements(reports.clickhouse, 600_000_000).query(
    'SELECT groupArray(number) AS amounts FROM numbers({n:UInt64})',
    { n: limits.report_result_bytes_max / 8 + 1 },
  )
  await expect(many).rejects.toMatchObject({ code: 'unavailable' })
})

test('money is exact where numbers are not, and is rounded to 4 places', async () => {
  const app_id = randomUUID()
  const money = (day: number, amounts: string[]) =>
    amounts.map((revenue_micros) => testEventRow({ app_id, ts_ms: march(day), revenue_micros, currency: 'USD' }))
  await reports.clickhouse.insertEvents(
    [
      ...money(1, ['49']), //                                     0.000049 is 0
      ...money(2, ['50']), //                                     0.00005 is 0.0001
      ...money(3, ['-50']),
      ...money(4, ['100000', '200000']), //                       0.1 + 0.2 is 0.3
      ...money(
        5,
        Array.from({ length: 20_000 }, () => '1000000000000000'),
      ), // the sum passes 2^63 micros
    ],
    randomUUID(),
  )
  const amounts = [0, 0.0001, -0.0001, 0.3, 2e13]
  const usd = async (since_ms: number, until_ms: number) =>
    (await askReport(app_id, { since_ms, until_ms })).rows.map(({ revenue_usd }) => revenue_usd)
  expect(await usd(march(1), march(6))).toEqual(amounts)
  // The same from raw rows: the only day is covered in part.
  expect((await Promise.all([1, 2, 3, 4, 5].map((day) => usd(march(day), march(day, 1))))).flat()).toEqual(amounts)
})

test('money that does not count brings nothing, whether it was marked or taken back later, on whole days and parts', async () => {
  const app_id = randomUUID()
  const money = { app_id, event_name: 'purchase', revenue_micros: '7000000', currency: 'USD', transaction_key: '5' }
  const marked = testEventRow({ ...money, ts_ms: march(2), revenue_counts: 0 })
  const taken = [1, 2].map((day) => testEventRow({ ...money, ts_ms: march(day, 5), partition: day }))
  const kept = testEventRow({ ...money, ts_ms: march(2, 7), revenue_micros: '1000000' })
  await reports.clickhouse.insertEvents([marked, ...taken, kept], randomUUID())
  await reports.cancel(taken)
  await reports.cancel(taken) // a second sweep
  await reports.clickhouse.command('OPTIMIZE TABLE revenue_cancelled_v1 FINAL')
  expect(await rowsOf(app_id, { since_ms: march(1), until_ms: march(3) })).toEqual([
    ['2026-03-01', 'purchase', 1, 1, 0],
    ['2026-03-02', 'purchase', 3, 3, 1],
  ])
  expect(await rowsOf(app_id, { since_ms: march(1, 6), until_ms: march(2, 7) })).toEqual([
    ['2026-03-02', 'purchase', 2, 2, 0],
  ])
})

test('names that look like SQL or JSON are only names', async () => {
  const app_id = randomUUID()
  const names = [`'; DROP TABLE events_raw_v1; --`, '{app_id:String}', '\\', `\\'`, '"', '%', '🎉', 'a\u2028b', ' ']
  const rows = names.map((event_name) => testEventRow({ app_id, ts_ms: march(1), event_name }))
  await reports.clickhouse.insertEvents(rows, randomUUID())
  const sorted = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  const window = { since_ms: march(1), until_ms: march(2) }
  expect(await rowsOf(app_id, window)).toEqual(sorted.map((name) => ['2026-03-01', name, 1, 1, 0]))
  for (const [offset, name] of sorted.entries()) {
    expect(await rowsOf(app_id, { ...window, limit: 1, offset })).toEqual([['2026-03-01', name, 1, 1, 0]])
  }
})

test('windows where no event can lie are empty', async () => {
  const app_id = randomUUID()
  const max = Number.MAX_SAFE_INTEGER
  for (const [since_ms, until_ms] of [
    [max - 5, max],
    [-max, -max + 5],
    [-5, 0],
    [-5, 5],
    [4e12, 4e12 + 300 * day_ms],
  ] as const) {
    expect(await rowsOf(app_id, { since_ms, until_ms })).toEqual([])
  }
})

test('any window over any events equals the reference, page by page', async () => {
  const span_ms = 4 * day_ms
  const atOrNearMidnight = fc.oneof(
    fc.integer({ min: 0, max: span_ms }),
    fc
      .tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: -1, max: 1 }))
      .map(([day, ms]) => Math.max(0, day * day_ms + ms)),
  )
  const someEvent = fc.record({
    at_ms: atOrNearMidnight,
    event_name: fc.constantFrom('open', 'Open', 'purchase', 'é', '\u{10000}', '\uFFFD'),
    install_uuid: fc.constantFrom('a', 'b', 'c'),
    micros: fc.option(fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n })),
    currency: fc.constantFrom('USD', 'EUR', 'GBP', 'XXX'),
    /** Whether its money counts, was marked when it was written, or taken back later. */
    money: fc.constantFrom('counts', 'counts', 'marked', 'taken'),
  })
  const someWindow = fc
    .tuple(atOrNearMidnight, atOrNearMidnight)
    .filter(([a, b]) => a !== b)
    .map(([a, b]) => ({ since: Math.min(a, b), until: Math.max(a, b) }))

  await fc.assert(
    fc.asyncProperty(
      fc.array(someEvent, { maxLength: 60 }),
      fc.array(someWindow, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 8 }),
      async (events, windows, limit) => {
        const app_id = randomUUID()
        const rows = events.map(({ at_ms, event_name, install_uuid, micros, currency, money }, offset) =>
          testEventRow({
            app_id,
            ts_ms: march(1) + at_ms,
            event_name,
            install_uuid,
            offset,
            transaction_key: '5',
            ...(micros !== null && { revenue_micros: micros.toString(), currency }),
            ...(money === 'marked' && { revenue_counts: 0 }),
          }),
        )
        const half = Math.floor(rows.length / 2)
        for (const part of [rows.slice(0, half), rows.slice(half)]) {
          if (part.length > 0) await reports.clickhouse.insertEvents(part, randomUUID())
        }
        const taken = rows.filter(({ revenue_micros }, n) => revenue_micros !== null && events[n]!.money === 'taken')
        await reports.cancel(taken)
        const sent = events.map(
          ({ at_ms, event_name, install_uuid, micros, currency, money }, n): SentEvent => ({
            ...{
              app: 0,
              install_uuid,
              partition: 0,
              source: 's2s',
              received_at_ms: march(20),
              event_id: `${n}`,
              event_name,
            },
            ...{ event_ts_ms: march(1) + at_ms, currency, transaction_id: null },
            revenue: micros === null || money !== 'counts' ? null : Number(micros) / 1e6,
          }),
        )
        const reference = expectedReports({ events: sent, decisions: [] }, 0, rates)
        for (const { since, until } of windows) {
          const window = { since_ms: march(1) + since, until_ms: march(1) + until }
          const expected = reference.events(window).rows
          const pages = []
          for (let offset = 0; offset <= expected.length; offset += limit) {
            pages.push(...(await askReport(app_id, { ...window, limit, offset })).rows)
          }
          expect(pages).toEqual(expected)
        }
      },
    ),
    { numRuns: roundsOf(8) },
  )
})

test('an edge inside a day whose raw events have expired takes the whole day, and says so', async () => {
  const app_id = randomUUID()
  const at = (ts_ms: number) => testEventRow({ app_id, ts_ms, event_name: 'open', install_uuid: String(ts_ms) })
  const times = [1, 2, 3, 4].flatMap((day) => [march(day, hour_ms), march(day, 13 * hour_ms)])
  await reports.clickhouse.insertEvents(times.map(at), randomUUID())
  const noon = { since_ms: march(1, 12 * hour_ms), until_ms: march(4, 12 * hour_ms) }
  const before = await askReport(app_id, noon)
  expect(before.rows.map(({ events }) => events)).toEqual([1, 2, 2, 1])
  expect(before.meta).not.toHaveProperty('whole_days')

  await markRawExpired(reports.clickhouse, new Map([[app_id, '2026-03-03']]))
  await reports.clickhouse.command(
    `ALTER TABLE events_raw_v1 DELETE WHERE app_id = '${app_id}' AND day < '2026-03-03' SETTINGS mutations_sync = 1`,
  )
  const expired = await askReport(app_id, noon)
  expect(expired.rows.map(({ events, unique_installs }) => [events, unique_installs])).toEqual([
    [2, 2],
    [2, 2],
    [2, 2],
    [1, 1],
  ])
  expect(expired.meta).toMatchObject({ ...noon, whole_days: true })
  const csv = await reports.request('events', app_id, { ...noon, format: 'csv' })
  expect(csv.headers['x-whole-days']).toBe('true')
  const within = { since_ms: march(2, 3 * hour_ms), until_ms: march(2, 4 * hour_ms) }
  expect((await askReport(app_id, within)).rows).toMatchObject([{ day: '2026-03-02', events: 2 }])
  const exact = { since_ms: march(1), until_ms: march(4, 12 * hour_ms) }
  expect((await askReport(app_id, exact)).meta).not.toHaveProperty('whole_days')
})
