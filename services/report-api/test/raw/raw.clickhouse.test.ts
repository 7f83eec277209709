import { randomBytes, randomUUID } from 'node:crypto'
import { get, type IncomingMessage } from 'node:http'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { KeyScope } from '@tributary/contracts/admin/server-keys'
import { limits } from '@tributary/contracts/limits'
import { RawErasure, RawEvent, RawReceipt } from '@tributary/contracts/raw-rows'
import { type EventRow, storedEventColumns } from '@tributary/contracts/rows'
import { inTransaction } from '@tributary/postgres/transaction'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { forgetRawErasures, noteRawErasures } from '@tributary/tables/raw/raw-erasures'
import { postgresStamps } from '@tributary/tables/raw/stamps'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys, readMasterKey } from '@tributary/tenancy/secrets/master-keys'
import { buildTenant, memoryCredentials } from '@tributary/testing/builders'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { noPostbacks } from '@tributary/testing/twins/postback-apps'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { z } from 'zod'
import { reportApi } from '../../src/app.ts'

const tenants = Array.from({ length: 6 }, () => buildTenant())
const [own, other] = [tenants[0]!, tenants[1]!]
const app_id = own.app.app_id
const hour_ms = 3600_000
const day_ms = 24 * hour_ms

let clickhouse: TestClickhouse
let db: TestPostgres
let app: ReturnType<typeof createHttpApp>
let base_url: string
beforeAll(async () => {
  ;[clickhouse, db] = await Promise.all([openTestClickhouse(), openTestPostgres()])
  const logger = pino({ level: 'silent' })
  app = createHttpApp({ logger })
  const raw = { pool: db.pool, clickhouse, stalled_ms_max: 300 }
  const around = { credentials: memoryCredentials(tenants), keyValue: memoryKeyValue(Date.now), now: Date.now }
  const fxRates = { find: async () => () => null }
  await app.register(
    reportApi({
      ...noPostbacks(),
      ...around,
      clickhouse,
      fxRates,
      raw,
      embedded: true,
      registry: new Registry(),
      logger,
    }),
  )
  base_url = await app.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(async () => {
  await app.close()
  await Promise.all([clickhouse.close(), db.close()])
})

/** Stores events as event-writer does at a time. */
async function store(rows: (Partial<EventRow> & { ts_ms: number })[], stored_at_ms: number, of = app_id) {
  const whole = rows.map((row) => ({ ...testEventRow({ app_id: of, country: 'DE', ...row }), stored_at_ms }))
  const lines = whole.map((row) => JSON.stringify(storedEventColumns.map((name) => row[name])))
  const columns = storedEventColumns
  await clickhouse.insert({ table: 'events_raw_v1', columns, lines: lines.join('\n'), token: randomUUID() })
}

async function ask(path: string, { key = own.server_key, headers = {} as Record<string, string> } = {}) {
  const answer = await app.inject({
    url: `/api/v1/raw/${path}`,
    headers: { authorization: `Bearer ${key}`, ...headers },
  })
  return { status: answer.statusCode, headers: answer.headers, body: answer.body, bytes: answer.rawPayload }
}
const rowsOf = (body: string) =>
  body
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
const namesOf = (body: string) =>
  rowsOf(body)
    .map(({ event_name }) => event_name)
    .toSorted()
const windowOf = (since_ms: number, until_ms: number) => `since_ms=${since_ms}&until_ms=${until_ms}`

test('a window holds the rows that were stored in it, whenever they happened, with the declared columns and no others', async () => {
  const now_ms = Date.now() - hour_ms
  await store(
    [
      { ts_ms: now_ms, event_name: 'a' },
      { ts_ms: now_ms - 200 * day_ms, event_name: 'late' },
    ],
    now_ms,
  )
  await store([{ ts_ms: now_ms - day_ms, event_name: 'b' }], now_ms + 1)
  await store([{ ts_ms: now_ms, event_name: 'foreign' }], now_ms, other.app.app_id)
  const first = await ask(`events?${windowOf(now_ms, now_ms + 1)}`)
  expect([first.status, namesOf(first.body)]).toEqual([200, ['a', 'late']])
  expect(first.headers['content-type']).toBe('application/x-ndjson; charset=utf-8')
  expect(first.headers['x-until-ms']).toBe(`${now_ms + 1}`)
  for (const row of rowsOf(first.body)) {
    expect(RawEvent.parse(row)).toEqual(row)
    expect(Object.keys(row)).toEqual(Object.keys(RawEvent.shape))
  }
  expect(namesOf((await ask(`events?${windowOf(now_ms + 1, now_ms + 2)}`)).body)).toEqual(['b'])
  // Rows of before there were times of storing.
  await store([{ ts_ms: now_ms, event_name: 'old' }], 0)
  expect(namesOf((await ask('events?since_ms=0&until_ms=1')).body)).toEqual(['old'])
})

test("a receipt has its verdict, the store's price beside what the event states, and the declared columns", async () => {
  const stored_at_ms = Date.now() - 4 * hour_ms
  const common = { app_id, day: '2026-06-02', topic: 't', partition: 0, source: 'sdk', currency: 'EUR', stored_at_ms }
  const stated = { has_money: 1, amount_micros: 5_000_000, event_name: 'purchase' }
  const price = { price_currency: 'USD', price_micros: 4_990_000 }
  const rows = [
    { ...common, ...stated, ...price, event_id: 'a', store: 'apple', verdict: 'valid', transaction_id: '101' },
    { ...common, ...stated, event_id: 'b', store: 'google', verdict: 'unverified', reason: 'store_away' },
    { ...common, ...stated, ...price, event_id: 'c', store: 'apple', verdict: 'sandbox' },
    { ...common, event_id: 'd', store: 'apple', verdict: 'valid', currency: '' },
    { ...common, ...stated, event_id: 'e', verdict: 'invalid', stored_at_ms: stored_at_ms + 1 },
    { ...common, ...stated, event_id: 'f', verdict: 'invalid', app_id: other.app.app_id },
  ].map((row, offset) => ({ ...row, install_uuid: `i-${row.event_id}`, event_key: `${offset}`, offset, version: 1 }))
  await clickhouse.command(
    `INSERT INTO receipts_v1 FORMAT JSONEachRow ${rows.map((row) => JSON.stringify(row)).join('\n')}`,
  )
  const answer = await ask(`receipts?${windowOf(stored_at_ms, stored_at_ms + 1)}`)
  const found = rowsOf(answer.body).toSorted((a, b) => (a.event_id < b.event_id ? -1 : 1))
  for (const row of found) {
    expect(RawReceipt.parse(row)).toEqual(row)
    expect(Object.keys(row)).toEqual(Object.keys(RawReceipt.shape))
  }
  const ofRow = (row: z.infer<typeof RawReceipt>) => [
    row.event_id,
    row.verdict,
    row.reason,
    row.price_source,
    row.price_micros,
    row.revenue_micros,
  ]
  expect(found.map(ofRow)).toEqual([
    ['a', 'valid', '', 'store', 4_990_000, 5_000_000],
    ['b', 'unverified', 'store_away', 'event', null, 5_000_000],
    ['c', 'sandbox', '', '', 4_990_000, 5_000_000],
    ['d', 'valid', '', '', null, null],
  ])
})

test('an answer ends where a batch is at work, and says where', async () => {
  const stamps = postgresStamps(db.pool)
  const at = { consumer: 'event-writer', topic: 'events.accepted.v1', partition: 3 }
  const stamp = await stamps.pin(at, 0)
  await store([{ ts_ms: stamp, event_name: 'half' }], stamp, other.app.app_id)
  const path = `events?${windowOf(stamp - 10, stamp + hour_ms)}`
  const held = await ask(path, { key: other.server_key })
  expect([held.headers['x-until-ms'], held.headers['x-complete-until-ms']]).toEqual([`${stamp}`, `${stamp}`])
  expect(held.body).toBe('')
  // Clicks wait for nobody here.
  const clicks = await ask(`clicks?${windowOf(stamp - 10, stamp + hour_ms)}`, { key: other.server_key })
  expect(Number(clicks.headers['x-complete-until-ms'])).toBeGreaterThan(stamp)
  await stamps.end(at, stamp)
  const next = await ask(`events?${windowOf(stamp, stamp + hour_ms)}`, { key: other.server_key })
  expect(namesOf(next.body)).toEqual(['half'])
  const until_ms = Number(next.headers['x-until-ms'])
  expect(until_ms).toBeLessThanOrEqual(Date.now() + 1)
  expect(await stamps.pin(at, stamp)).toBeGreaterThanOrEqual(until_ms)
  // A window of the future is empty, and does not go back.
  const ahead = await ask(`events?${windowOf(until_ms + hour_ms, until_ms + 2 * hour_ms)}`, { key: other.server_key })
  expect([ahead.body, ahead.headers['x-until-ms']]).toEqual(['', `${until_ms + hour_ms}`])
  expect(ahead.headers['x-raw-epoch']).toBe(held.headers['x-raw-epoch'])
  await stamps.startEpoch()
  expect((await ask('events?since_ms=0&until_ms=1')).headers['x-raw-epoch']).not.toBe(held.headers['x-raw-epoch'])
})

test('lines are compressed as the client asks, and a Parquet file is one file of the engine', async () => {
  const at_ms = Date.now() - 2 * hour_ms
  await store(
    Array.from({ length: 50 }, (_, n) => ({ ts_ms: at_ms, event_name: `e${n % 10}` })),
    at_ms,
  )
  const path = `events?${windowOf(at_ms, at_ms + 1)}`
  const plain = await ask(path)
  const sorted = (body: string) => body.split('\n').toSorted()
  for (const [encoding, inflate] of [
    ['gzip', gunzipSync],
    ['zstd', zstdDecompressSync],
  ] as const) {
    const packed = await ask(path, { headers: { 'accept-encoding': encoding } })
    expect(packed.headers['content-encoding']).toBe(encoding)
    expect(sorted(inflate(packed.bytes).toString())).toEqual(sorted(plain.body))
  }
  const file = await ask(`${path}&format=parquet`, { headers: { 'accept-encoding': 'gzip' } })
  expect(file.headers).toMatchObject({ 'content-type': 'application/vnd.apache.parquet' })
  expect(file.headers['content-encoding']).toBeUndefined()
  expect([file.bytes.subarray(0, 4).toString(), file.bytes.subarray(-4).toString()]).toEqual(['PAR1', 'PAR1'])
})

test('a request is refused by the first fault', async () => {
  const cases: [string, number, string][] = [
    ['events?since_ms=1', 400, 'invalid_since_until'],
    ['events?until_ms=1', 400, 'invalid_since_until'],
    ['events?since_ms=x&until_ms=2', 400, 'invalid_since_until'],
    ['events?since_ms=2&until_ms=2', 400, 'since_ms_must_be_less_than_until_ms'],
    [`events?since_ms=0&until_ms=${31 * day_ms + 1}`, 400, 'window_too_large'],
    ['events?since_ms=1&until_ms=2&format=csv', 400, 'invalid_field'],
    ['events?since_ms=1&until_ms=2&limit=1', 400, 'unknown_parameter'],
    ['costs?since_ms=1&until_ms=2', 404, 'not_found'],
  ]
  for (const [path, status, error] of cases) {
    const { status: got, body } = await ask(path)
    expect([path, got, JSON.parse(body).error]).toEqual([path, status, error])
  }
  expect((await ask(`events?since_ms=0&until_ms=${31 * day_ms}`)).status).toBe(200)
  const scopes = own.key.scopes
  own.key.scopes = ['events:write', 'reports:read', 'costs:write'] satisfies KeyScope[]
  expect(JSON.parse((await ask('events?since_ms=1&until_ms=2')).body).error).toBe('scope_missing')
  own.key.scopes = scopes
})

/** Begins to read an answer, and takes nothing of it. */
const open = (key: string, path: string) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const asked = get(`${base_url}/api/v1/raw/${path}`, { headers: { authorization: `Bearer ${key}` }, agent: false })
    asked.on('response', (answer) => resolve(answer.pause())).on('error', reject)
  })

test('an app has one answer at a time; who takes nothing of it is cut off, and the next one is answered', async () => {
  const at_ms = Date.now() - 3 * hour_ms
  const props = JSON.stringify({ text: 'x'.repeat(100_000) })
  await store(
    Array.from({ length: 120 }, () => ({ ts_ms: at_ms, props })),
    at_ms,
    other.app.app_id,
  )
  const path = `events?${windowOf(at_ms, at_ms + 1)}`
  const stalled = await open(other.server_key, path)
  const again = await ask(path, { key: other.server_key })
  expect([again.status, JSON.parse(again.body).error, again.headers['retry-after']]).toEqual([429, 'busy', '1'])
  await vi.waitFor(async () => expect((await ask(path, { key: other.server_key })).status).toBe(200), {
    timeout: 60_000,
  })
  const end = new Promise<string>((resolve) => {
    stalled.on('error', () => resolve('cut off')).on('end', () => resolve('whole'))
  })
  // What the kernel holds comes, and then the fault.
  stalled.resume()
  expect(await end).toBe('cut off')
})

test('erasures come by the time at which they were done, and too many of them in several windows', async () => {
  const [, , , , , last] = tenants
  const about = { actor: 'test', request_id: 'r', now_ms: Date.now() }
  const { company_id } = await createCompany(db.pool, { name: 'Acme', plan: 'free' }, about)
  const masterKeys = openMasterKeys([readMasterKey(randomBytes(32).toString('base64'))])
  const { app_id } = await createApp(db.pool, masterKeys, { company_id, name: 'A', platform: 'ios' }, about)
  last!.key.app_id = app_id
  const key = last!.server_key
  const since_ms = Date.now() - hour_ms
  const erase = (names: readonly string[]) =>
    inTransaction(db.pool, (client) =>
      noteRawErasures(
        client,
        app_id,
        names.map((install_uuid) => ({ install_uuid, click_id: '', erased_up_to_ms: 5 })),
      ),
    )
  await erase(['a', 'b'])
  const path = () => `erasures?${windowOf(since_ms, Date.now() + hour_ms)}`
  const first = await ask(path(), { key })
  expect(
    rowsOf(first.body)
      .map(({ install_uuid }) => install_uuid)
      .toSorted(),
  ).toEqual(['a', 'b'])
  expect(Object.keys(rowsOf(first.body)[0])).toEqual(Object.keys(RawErasure.shape))
  const file = await ask(`${path()}&format=parquet`, { key })
  expect(file.bytes.subarray(-4).toString()).toBe('PAR1')
  // One more than an answer holds: the window ends before the last ones.
  await erase(Array.from({ length: limits.raw_erasures_max - 2 }, (_, n) => `${n}`))
  await erase(['last'])
  const many = await ask(path(), { key })
  expect(rowsOf(many.body)).toHaveLength(limits.raw_erasures_max)
  const rest = await ask(`erasures?${windowOf(Number(many.headers['x-until-ms']), Date.now() + hour_ms)}`, { key })
  expect(rowsOf(rest.body).map(({ install_uuid }) => install_uuid)).toEqual(['last'])
})

test('erasures are forgotten after 62 days of the clock that stamped them, whatever that of a process says', async () => {
  const { pool } = db
  const stamps = 'SELECT count(*)::int AS left FROM raw_erasures'
  const before = (await pool.query(stamps)).rows[0].left
  expect(before).toBeGreaterThan(0)
  vi.setSystemTime(Date.now() + 63 * day_ms)
  await forgetRawErasures(pool).finally(() => vi.useRealTimers())
  expect((await pool.query(stamps)).rows[0].left).toBe(before)
  await pool.query('UPDATE raw_erasures SET stored_at_ms = stored_at_ms - $1', [63 * day_ms])
  await forgetRawErasures(pool)
  expect((await pool.query(stamps)).rows[0].left).toBe(0)
})
