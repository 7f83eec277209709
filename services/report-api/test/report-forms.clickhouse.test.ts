import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { day_ms, limits } from '@tributary/contracts/limits'
import { columnsOf, reportNames } from '@tributary/contracts/reports'
import type { EventRow } from '@tributary/contracts/rows'
import { testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openReports, type Reports } from './report-stage.ts'

const march = (day: number, ms = 0) => Date.UTC(2026, 2, day) + ms
const window = { since_ms: march(1), until_ms: march(20) }
const inWindow = `since_ms=${window.since_ms}&until_ms=${window.until_ms}`

let reports: Reports
let now_ms = march(20)
let query: Reports['clickhouse']['query']
/** An app with more rows than two turns give: 4000 names on each of 3 days. */
const busy = randomUUID()
const busy_rows = 12_000
beforeAll(async () => {
  reports = await openReports({ rateOf: () => null, now: () => now_ms })
  await reports.app.listen({ host: '127.0.0.1', port: 0 })
  query = reports.clickhouse.query
  const events = Array.from({ length: busy_rows }, (_, n) =>
    testEventRow({
      app_id: busy,
      ts_ms: march(1 + (n % 3)),
      event_name: `name ${Math.floor(n / 3)}`,
      install_uuid: `i-${n}`,
    }),
  )
  await reports.clickhouse.insertEvents(events, randomUUID())
})
/** Each file of several pages is streamed. */
const streamed = { report_csv_tagged_chars_max: -1 }
const tagged_chars_max = limits.report_csv_tagged_chars_max
afterEach(() => {
  Object.assign(limits, { report_csv_tagged_chars_max: tagged_chars_max })
  reports.clickhouse.query = query
  now_ms = march(20)
})
afterAll(() => reports.close())

type Headers = Record<string, string>
const get = (app_id: string, path: string, headers: Headers = {}) =>
  reports.app.inject({ url: `/api/v1/reports/${path}`, headers: { authorization: `Bearer ${app_id}`, ...headers } })
const port = () => (reports.app.server.address() as AddressInfo).port
const metric = async (line: string) => (await reports.registry.metrics()).includes(`${line}\n`)

async function insert(app_id: string, ...events: Partial<EventRow>[]) {
  await reports.clickhouse.insertEvents(
    events.map((event) => testEventRow({ app_id, ts_ms: march(2), install_uuid: 'i-1', ...event })),
    randomUUID(),
  )
}

test('CSV has the columns and rows of JSON, harmless for spreadsheets, by Accept and by format', async () => {
  const app_id = randomUUID()
  const names = ['=1+1', 'a "b"', 'a,b', 'a\nb', 'größe']
  const money = { revenue_micros: '5000000', event_name: 'zero rate' }
  await insert(
    app_id,
    ...names.map((event_name) => ({ event_name })),
    { ...money, currency: 'EUR' },
    { ...money, currency: 'XXX' },
  )
  const file = [
    'day,event_name,events,unique_installs,revenue_usd',
    "2026-03-02,'=1+1,1,1,0",
    '2026-03-02,"a ""b""",1,1,0',
    '2026-03-02,"a\nb",1,1,0',
    '2026-03-02,"a,b",1,1,0',
    '2026-03-02,größe,1,1,0',
    '2026-03-02,zero rate,2,1,0',
    '',
  ]
  const answers = [
    await get(app_id, `events?${inWindow}&format=csv`),
    await get(app_id, `events?${inWindow}&format=csv`, { accept: 'application/json' }),
    await get(app_id, `events?${inWindow}`, { accept: 'text/csv' }),
    await get(app_id, `events?${inWindow}`, { accept: 'application/json;q=0.5, TEXT/CSV; header=present, */*;q=0.1' }),
  ]
  for (const { statusCode, headers, body } of answers) {
    expect([statusCode, body.split('\r\n').toSorted()]).toEqual([200, file.toSorted()])
    expect(headers).toMatchObject({
      ...{ 'content-type': 'text/csv; charset=utf-8; header=present', 'x-missing-rates': 'EUR,XXX' },
      ...{
        'content-disposition': 'attachment; filename="events-2026-03-01-to-2026-03-19.csv"',
        'x-content-type-options': 'nosniff',
      },
      ...{ vary: 'Accept, Accept-Encoding', 'cache-control': 'private, no-cache', 'ratelimit-limit': '1000' },
    })
  }
  expect(answers[0]!.headers).not.toHaveProperty('x-rows') // all rows of a file are not known when it begins
  const { body: page, headers: of_page } = await get(app_id, `events?${inWindow}&format=csv&limit=2&offset=3`)
  expect(of_page['x-rows']).toBe('6')
  const whole = answers[0]!.body
  expect(page).toBe([whole.split('\r\n')[0], ...whole.split('\r\n').slice(4, 6), ''].join('\r\n'))
  for (const accept of [
    '*/*',
    'application/json',
    'text/html,application/xhtml+xml,*/*;q=0.8',
    'image/png',
    'text/csv;q=0',
    '',
  ]) {
    expect((await get(app_id, `events?${inWindow}`, { accept })).headers['content-type'], accept).toMatch(
      /^application\/json/,
    )
  }
  expect((await get(app_id, `events?${inWindow}&format=json`, { accept: 'text/csv' })).json().rows).toHaveLength(6)
  expect((await get(app_id, `events?${inWindow}&event_name=a,b&format=csv`)).headers).not.toHaveProperty(
    'x-missing-rates',
  )
  for (const name of reportNames) {
    const days = name === 'cohorts' || name === 'ltv' ? [90, 2] : undefined
    const asked = days === undefined ? '' : `&days=${days}`
    const { body, headers } = await get(randomUUID(), `${name}?${inWindow}&format=csv${asked}`)
    expect(body).toBe(`${columnsOf(name, { days }).join(',')}\r\n`)
    expect(headers['x-mature-until-ms']).toBe(days === undefined ? undefined : String(march(20) - 91 * day_ms))
  }
  const json = await get(app_id, `events?${inWindow}`)
  expect(json.headers).toMatchObject({ 'x-content-type-options': 'nosniff' })
  expect(json.headers).not.toHaveProperty('content-disposition')
  const far = 'since_ms=8639999999999999&until_ms=8640000000000001&format=csv'
  expect((await get(app_id, `events?${far}`)).statusCode).not.toBe(500)
  expect((await get(app_id, 'events?format=csv&limit=0', { accept: 'text/csv' })).json().error).toBe('invalid_limit')
})

/** The rows of all pages of 1000 as JSON, as lines of cells. */
async function pagesOf(app_id: string, path: string): Promise<string[]> {
  const lines: string[] = []
  for (let isLast = false; !isLast; ) {
    const { rows } = (await get(app_id, `${path}&limit=1000&offset=${lines.length}`)).json()
    lines.push(...rows.map((row: object) => Object.values(row).join(',')))
    isLast = rows.length < 1000
  }
  return lines
}

test('without limit CSV has the rows of all pages, also compressed; with limit one page', async () => {
  const pages = await pagesOf(busy, `events?${inWindow}`)
  expect(pages).toHaveLength(busy_rows)
  expect(busy_rows).toBeGreaterThan(2 * limits.report_csv_page_rows)
  const plain = await get(busy, `events?${inWindow}&format=csv`)
  expect(plain.body.split('\r\n').slice(1, -1)).toEqual(pages)
  const again = await get(busy, `events?${inWindow}&format=csv`, { 'if-none-match': String(plain.headers.etag) })
  expect([again.statusCode, again.body]).toEqual([304, ''])
  Object.assign(limits, streamed) // of a longer file nobody knows all rows when the headers go out
  const long = await get(busy, `events?${inWindow}&format=csv`)
  expect([long.headers.etag, long.body]).toEqual([undefined, plain.body])
  for (const [encoding, inflate] of [
    ['gzip', gunzipSync],
    ['zstd', zstdDecompressSync],
  ] as const) {
    const { headers, rawPayload } = await get(busy, `events?${inWindow}&format=csv`, { 'accept-encoding': encoding })
    expect(headers).toMatchObject({ 'content-encoding': encoding, vary: 'Accept, Accept-Encoding' })
    expect(inflate(rawPayload).toString()).toBe(plain.body)
    expect(rawPayload.length * 4).toBeLessThan(plain.body.length)
    const json = await get(busy, `events?${inWindow}&limit=50`, { 'accept-encoding': `br, ${encoding};q=0.7, *;q=0.1` })
    expect(json.headers['content-encoding']).toBe(encoding)
    expect(JSON.parse(inflate(json.rawPayload).toString()).rows).toHaveLength(50)
  }
  // 1 March is a Sunday: the first week begins before the window, and no page holds both weeks.
  const weeks = await pagesOf(busy, `events?${inWindow}&group=week`)
  expect([weeks.length, weeks[0]?.slice(0, 10)]).toEqual([8000, '2026-02-23'])
  const file = await get(busy, `events?${inWindow}&group=week&format=csv`)
  expect(file.body.split('\r\n').slice(1, -1)).toEqual(weeks)
  const rest = await get(busy, `events?${inWindow}&format=csv&offset=${busy_rows - 3}`)
  expect(rest.body.split('\r\n').slice(1, -1)).toEqual(pages.slice(-3))
  for (const accepted of ['gzip;q=0', 'identity, gzip;q=0.5', 'br', '']) {
    const { headers } = await get(busy, `events?${inWindow}&limit=50`, { 'accept-encoding': accepted })
    expect(headers, accepted).not.toHaveProperty('content-encoding')
  }
  const small = await get(busy, `events?${inWindow}&limit=1`, { 'accept-encoding': 'gzip' })
  expect(small.json().rows).toHaveLength(1)
})

test('an answer of a fixed window has a weak tag, and 304 as long as its rows stay the same', async () => {
  const app_id = randomUUID()
  await insert(app_id, { event_name: 'open' })
  const ofEvents = [`events?${inWindow}`, `events?${inWindow}&format=csv`]
  const fixed = [
    ...reportNames.map((name) => `${name}?${inWindow}`),
    ...ofEvents,
    `cohorts?since_ms=${march(1) - 40 * day_ms}&until_ms=${march(20)}`, // mature_until_ms lies inside
  ]
  for (const path of fixed) {
    const first = await get(app_id, path)
    const tag = String(first.headers.etag)
    expect(tag, path).toMatch(/^W\/"/)
    now_ms += 1000
    const again = await get(app_id, path, { 'if-none-match': `"x", ${tag}`, 'accept-encoding': 'gzip' })
    expect([again.statusCode, again.body, again.headers.etag], path).toEqual([304, '', tag])
    expect(again.headers).toMatchObject({ vary: 'Accept, Accept-Encoding', 'cache-control': 'private, no-cache' })
    expect((await get(app_id, path, { 'if-none-match': 'W/"x"' })).statusCode).toBe(200)
  }
  const tagOf = async (path: string) => String((await get(app_id, path)).headers.etag)
  // All of `meta` is in the tag: `mature_until_ms` moves with each minute.
  for (const [path, changes] of [
    ['cohorts', true],
    ['ltv', true],
    ['events', false],
  ] as const) {
    const url = `${path}?${inWindow}&format=csv`
    const tag = await tagOf(url)
    now_ms += 60_000
    expect([path, (await tagOf(url)) !== tag]).toEqual([path, changes])
  }
  const before = await Promise.all(ofEvents.map(tagOf))
  expect(new Set([...before, await tagOf(`events?${inWindow}&limit=1`)]).size).toBe(3)
  await insert(app_id, { event_name: 'open' })
  for (const [n, path] of ofEvents.entries()) {
    const changed = await get(app_id, path, { 'if-none-match': before[n]! })
    expect([changed.statusCode, changed.headers.etag === before[n]]).toEqual([200, false])
  }
  for (const open of ['events', `events?since_ms=${march(1)}`, `events?until_ms=${march(20)}&format=csv`]) {
    const { statusCode, headers } = await get(app_id, open, { 'if-none-match': '*' })
    expect([statusCode, headers.etag], open).toEqual([200, undefined])
  }
})

/** Lets the statements of an export pass until it asks for its second page. */
function failLater() {
  Object.assign(limits, streamed)
  let pages = 0
  reports.clickhouse.query = async (sql, params) => {
    if (params?.limit === limits.report_csv_page_rows) pages += 1
    if (pages > 1) throw new Error('Code: 241. Memory limit exceeded')
    return query.call(reports.clickhouse, sql, params) as Promise<never[]>
  }
}

test.each([
  ['1.1', ''],
  ['1.1', 'Accept-Encoding: gzip\r\n'],
  ['1.0', ''],
])(
  'a page that fails after the first one ends the connection of HTTP/%s as a fault: no client takes the file for whole',
  async (version, more) => {
    failLater()
    const client = connect(port(), '127.0.0.1')
    client.write(
      `GET /api/v1/reports/events?${inWindow}&format=csv HTTP/${version}\r\nHost: a\r\nAuthorization: Bearer ${busy}\r\n${more}\r\n`,
    )
    await expect(text(client)).rejects.toMatchObject({ code: 'ECONNRESET' })
  },
)

test('a client sees that an export broke off, and the metrics count it; a page that fails first is a coded error', async () => {
  failLater()
  const headers = { authorization: `Bearer ${busy}` }
  const url = `http://127.0.0.1:${port()}/api/v1/reports/events?${inWindow}&format=csv`
  await expect(fetch(url, { headers }).then((answer) => answer.text())).rejects.toThrow()
  expect(await metric('tributary_report_broken_off_total{reason="failed"} 4')).toBe(true)
  reports.clickhouse.query = async () => {
    throw new Error('Code: 241. Memory limit exceeded')
  }
  const refused = await fetch(url, { headers })
  expect([refused.status, ((await refused.json()) as { error: string }).error]).toEqual([500, 'internal_error'])
})

test('an export holds its place only while a page is worked out, and ends when its client leaves', async () => {
  Object.assign(limits, streamed)
  const second = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  let pages = 0
  reports.clickhouse.query = async (sql, params) => {
    const isPage = params?.limit === limits.report_csv_page_rows
    if (isPage && ++pages === 2) {
      second.resolve()
      await release.promise
    }
    return query.call(reports.clickhouse, sql, params) as Promise<never[]>
  }
  const client = connect(port(), '127.0.0.1')
  client.write(
    `GET /api/v1/reports/events?${inWindow}&format=csv HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${busy}\r\n\r\n`,
  )
  await second.promise
  expect(await metric('tributary_reports{state="running"} 1')).toBe(true)
  client.destroy()
  await once(client, 'close')
  release.resolve()
  await expect.poll(() => metric('tributary_report_broken_off_total{reason="client_left"} 1')).toBe(true)
  expect(pages).toBe(2)
  expect(await metric('tributary_reports{state="running"} 0')).toBe(true)
})
