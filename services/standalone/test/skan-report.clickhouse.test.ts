import { randomUUID } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import type { PostbackReceived } from '@tributary/contracts/postback/received'
import type { ReportMeta, ReportRow } from '@tributary/contracts/reports'
import { tableNames } from '@tributary/contracts/tables'
import { topics } from '@tributary/contracts/topics'
import { postbackKeys } from '@tributary/domain/postback/keys'
import { judgeAgain } from '@tributary/postback-writer/judge-again'
import { postbackWriter } from '@tributary/postback-writer/postback-writer'
import { reportApi } from '@tributary/report-api/app'
import { skanReport } from '@tributary/report-api/reports/skan'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { appIdsAsKeys } from '@tributary/testing/builders'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import {
  aakPayload,
  createAppleTwin,
  development_kid,
  production_kid,
  skanFields,
} from '@tributary/testing/postback/apple-twin'
import { expectedSkanReport, type StoreApp } from '@tributary/testing/postback/expected-skan-report'
import { writeJson } from '@tributary/testing/postback/json'
import { days, first_ms, randomPostbacks, storeApps as twoApps } from '@tributary/testing/postback/random-postbacks'
import type { ReceivedPostback } from '@tributary/testing/postback/received'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { memoryCvSchemas, memoryStoreApps } from '@tributary/testing/twins/postback-apps'
import fc from 'fast-check'
import pino from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'

const { report_unproven_rows_max } = limits
const logger = pino({ level: 'silent' })
const day = 24 * 3600_000
const apple = createAppleTwin()
const tables = tableNames.filter((name) => name.startsWith('postback'))

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

/** An installation without postbacks. A server key is the id of its app. */
async function makeWorld() {
  for (const table of tables) await clickhouse.command(`TRUNCATE TABLE ${table}`)
  const storeApps = memoryStoreApps()
  const cvSchemas = memoryCvSchemas()
  const app = createHttpApp({ logger })
  const shared = { keyValue: memoryKeyValue(Date.now), now: Date.now, registry: new Registry(), logger }
  const fxRates = { find: async () => () => null }
  await app.register(reportApi({ ...shared, clickhouse, credentials: appIdsAsKeys, fxRates, storeApps, cvSchemas }))
  const broker = memoryBroker(1, () => first_ms)
  return {
    storeApps,
    cvSchemas,
    request: (app_id: string, query: Record<string, string | number>) =>
      app.inject({
        url: `/api/v1/reports/skan?${new URLSearchParams(Object.entries(query).map(([name, one]): [string, string] => [name, `${one}`]))}`,
        headers: { authorization: `Bearer ${app_id}` },
      }),
    async rows(app_id: string, query: Record<string, number> = {}) {
      const window = { since_ms: first_ms - 100 * day, until_ms: first_ms + 200 * day, limit: 1000 }
      const answer = await this.request(app_id, { ...window, ...query })
      expect(answer.statusCode, answer.body).toBe(200)
      return answer.json<{ rows: ReportRow<'skan'>[]; meta: ReportMeta }>().rows
    },
    /** Has the writer take them, in batches of `chunk`. */
    async receive(postbacks: readonly ReceivedPostback[], { keys = apple.keys, chunk = 100 } = {}) {
      const records = postbacks.map((postback) => {
        const record: PostbackReceived = { v: 1, content_type: '', audit_key: 'k', ...postback }
        return {
          topic: topics.postbacksReceived.name,
          partition: 0,
          key: null,
          value: Buffer.from(JSON.stringify(record)),
        }
      })
      await broker.publish(records)
      broker.chunk_records_max = chunk
      const consumer = postbackWriter({ clickhouse, postbackKeys: { current: () => keys }, logger })
      const pauses = { first_ms: 1, most_ms: 2 }
      const running = await runConsumer({ broker, consumer, logger, registry: new Registry(), now: Date.now, pauses })
      await expect
        .poll(() => broker.isDone('postback-writer', topics.postbacksReceived.name, 0), {
          timeout: 180_000,
          interval: 1,
        })
        .toBe(true)
      await running.close()
    },
  }
}
type World = Awaited<ReturnType<typeof makeWorld>>

function register({ storeApps, cvSchemas }: World, { app_id, store_id, development_keys, schemas }: StoreApp) {
  storeApps.add({ app_id, store_id, development_keys })
  for (const version of schemas) cvSchemas.add(app_id, version)
}

test('over random histories the report equals loops over postbacks that another decoder read', async () => {
  const edge = fc.tuple(fc.nat(days), fc.constantFrom(-1, 0, 1, day / 2)).map(([n, ms]) => first_ms + n * day + ms)
  const plan = fc.record({
    postbacks: randomPostbacks(apple),
    chunk: fc.integer({ min: 10, max: 50 }),
    window: fc.tuple(edge, edge).filter(([a, b]) => a !== b),
    limit: fc.integer({ min: 1, max: 5 }),
  })
  let rows = 0
  await fc.assert(
    fc.asyncProperty(plan, async ({ postbacks, chunk, window, limit }) => {
      const world = await makeWorld()
      const apps = twoApps([randomUUID(), randomUUID()])
      await world.receive(postbacks, { chunk })
      for (const app of apps) register(world, app)
      const history = { postbacks, apps, keys: apple.keys }
      const some = { since_ms: Math.min(...window), until_ms: Math.max(...window) }
      const all = { since_ms: first_ms - day, until_ms: first_ms + 100 * day }
      for (const app of apps) {
        for (const asked of [all, some]) {
          const expected = expectedSkanReport(history, app, asked)
          expect(await world.rows(app.app_id, asked)).toEqual(expected)
          rows += expected.length
        }
      }
      const { app_id } = apps[0]!
      const whole = await world.rows(app_id, all)
      expect(await world.rows(app_id, { ...all, limit, offset: 1 })).toEqual(whole.slice(1, 1 + limit))
    }),
    { numRuns: Number(process.env.TRIBUTARY_TEST_HISTORIES ?? 10) },
  )
  expect(rows).toBeGreaterThan(20)
})

const item = 10_738_027_756
const ours = { app_id: 'app', store_id: `${item}`, development_keys: false, schemas: [] }

const skan = (
  changes: Parameters<typeof skanFields>[1],
  received_at_ms: number,
  unsigned: object = {},
): ReceivedPostback => {
  const signed = apple.signSkan('4.0', skanFields('4.0', { 'app-id': item, 'conversion-value': undefined, ...changes }))
  return { protocol: 'skan', body: writeJson({ ...signed, ...unsigned }), received_at_ms }
}
const aak = (
  changes: Parameters<typeof aakPayload>[0],
  received_at_ms: number,
  kid = production_kid,
): ReceivedPostback => ({
  protocol: 'aak',
  body: apple.signAak(aakPayload({ 'advertised-item-identifier': item, ...changes }), { kid, alg: 'ES256' }),
  received_at_ms,
})
/** The same with a changed signed field. */
const forged = (one: ReceivedPostback, received_at_ms: number): ReceivedPostback => {
  return { ...one, body: one.body.replace('"fidelity-type":1', '"fidelity-type":0'), received_at_ms }
}
/** What a row says in short: `<day> <postbacks>/<installs>/<unverified> <fine>`. */
const short = (rows: ReportRow<'skan'>[]) =>
  rows.map((row) => `${row.day} ${row.postbacks}/${row.installs}/${row.unverified} ${JSON.stringify(row.fine)}`)

test('the first valid postback counts: forgeries before it, resends and other values after it do not', async () => {
  const world = await makeWorld()
  register(world, ours)
  const first = skan({ 'transaction-id': 't1' }, first_ms, { 'conversion-value': 5 })
  const other = { ...first, body: first.body.replace('"conversion-value":5', '"conversion-value":63') }
  const resends = Array.from({ length: 9 }, (_, n) => ({ ...first, received_at_ms: first_ms + (n + 1) * day }))
  await world.receive([forged(first, first_ms - day)])
  expect(short(await world.rows('app'))).toEqual(['2026-02-28 0/0/1 {}'])
  await world.receive([first, ...resends, forged(other, first_ms + 2), { ...other, received_at_ms: first_ms + 1 }])
  expect(short(await world.rows('app'))).toEqual(['2026-03-01 1/1/0 {"5":1}'])
  // Losers make no row, also where the winner is outside of the window.
  expect(await world.rows('app', { since_ms: first_ms + 1 })).toEqual([])
  // A batch from another log, as after a restore: the same postbacks at other places.
  await world.receive([first, ...resends])
  expect(short(await world.rows('app'))).toEqual(['2026-03-01 1/1/0 {"5":1}'])
  // An index is a postback of its own, whatever the order in which they come.
  await world.receive([
    skan({ 'transaction-id': 't1', 'postback-sequence-index': 2 }, first_ms + 3),
    skan({ 'transaction-id': 't1', 'postback-sequence-index': 1 }, first_ms + 4, { 'coarse-conversion-value': 'low' }),
  ])
  const rows = await world.rows('app')
  expect(rows.map((row) => [row.sequence_index, row.installs, row.cv_null, row.coarse_low, row.fine])).toEqual([
    [0, 1, 0, 0, { 5: 1 }],
    [1, 0, 0, 1, {}],
    [2, 0, 1, 0, {}],
  ])
})

test('a postback that is judged later takes the place of one that came after it', async () => {
  const world = await makeWorld()
  register(world, ours)
  const late = createAppleTwin()
  const payload = aakPayload({ 'advertised-item-identifier': item, 'postback-identifier': 'p1' })
  const early: ReceivedPostback = {
    protocol: 'aak',
    body: writeJson({ 'jws-string': late.signAak(payload, { kid: 'next/0', alg: 'ES256' }), 'conversion-value': 1 }),
    received_at_ms: first_ms,
  }
  const later: ReceivedPostback = {
    protocol: 'aak',
    body: writeJson({ 'jws-string': apple.signAak(payload), 'conversion-value': 2 }),
    received_at_ms: first_ms + day,
  }
  await world.receive([early, later])
  expect(short(await world.rows('app'))).toEqual(['2026-03-02 1/1/0 {"2":1}'])
  const next = late.keys.aak.get(production_kid)!
  const keys = postbackKeys(apple.keys.skan, new Map([...apple.keys.aak, ['next/0', next]]))
  const known = { current: () => keys, refresh: async () => {} }
  await judgeAgain({ clickhouse, postbackKeys: known, now: () => first_ms + 2 * day })(new AbortController().signal)
  expect(short(await world.rows('app'))).toEqual(['2026-03-01 1/1/0 {"1":1}'])
})

test('however many variants came before the one that was first until now, one postback counts', async () => {
  const world = await makeWorld()
  register(world, ours)
  const first = skan({ 'transaction-id': 't2' }, first_ms + day, { 'conversion-value': 1 })
  const variant = (n: number) => ({
    ...{ ...first, received_at_ms: first_ms + n },
    body: first.body.replace('"conversion-value":1', `"conversion-value":${n}`),
  })
  await world.receive([first])
  expect(short(await world.rows('app'))).toEqual(['2026-03-02 1/1/0 {"1":1}'])
  // Of a gateway whose log was read late.
  await world.receive(Array.from({ length: 60 }, (_, n) => variant(n + 2)))
  expect(short(await world.rows('app'))).toEqual(['2026-03-01 1/1/0 {"2":1}'])
})

test('what was resent of other apps takes no memory of a report', async () => {
  const world = await makeWorld()
  register(world, ours)
  const first = skan({ 'transaction-id': 't3' }, first_ms, { 'conversion-value': 1 })
  await world.receive([first, { ...first, received_at_ms: first_ms + 1 }])
  await clickhouse.command(
    `INSERT INTO postback_beaten_claims_v1 SELECT toDate('2026-03-01'), sipHash64(number) FROM numbers(3_000_000)`,
  )
  const query = <Row>(sql: string, params?: Record<string, unknown>) =>
    clickhouse.query<Row>(`${sql} SETTINGS max_memory_usage = 60000000`, params)
  const fxRates = { find: async () => () => null }
  const sources = { clickhouse: { query }, storeApps: world.storeApps, cvSchemas: world.cvSchemas, fxRates }
  const page = { limit: 100, offset: 0, filters: {}, group: 'day' as const }
  const { rows } = await skanReport(sources, { app_id: 'app', since_ms: first_ms, until_ms: first_ms + day, ...page })
  expect(short(rows)).toEqual(['2026-03-01 1/1/0 {"1":1}'])
})

test('an app has the postbacks of its store id the moment it has it, and nobody else has them', async () => {
  const world = await makeWorld()
  await world.receive([
    skan({}, first_ms),
    // The app that showed the ad has what no app advertised; another app of ours keeps its own.
    skan({ 'app-id': 77, 'source-app-id': item }, first_ms + day),
    skan({ 'app-id': item + 1, 'source-app-id': item }, first_ms + 2 * day),
    skan({ 'app-id': undefined, 'source-app-id': item }, first_ms + 3 * day),
  ])
  expect(await world.rows('app')).toEqual([])
  register(world, ours)
  register(world, { ...ours, app_id: 'neighbour', store_id: `${item + 1}` })
  world.storeApps.add({ app_id: 'second_company', store_id: null })
  expect(short(await world.rows('app'))).toEqual(['2026-03-01 1/1/0 {}', '2026-03-02 1/1/0 {}', '2026-03-04 0/0/1 {}'])
  expect(short(await world.rows('neighbour'))).toEqual(['2026-03-03 1/1/0 {}'])
  expect(await world.rows('second_company')).toEqual([])
  world.storeApps.add({ app_id: 'app', store_id: null })
  world.storeApps.add({ app_id: 'second_company', store_id: `${item}` })
  expect(await world.rows('app')).toEqual([])
  expect(await world.rows('second_company')).toHaveLength(3)
})

test('lost ads, re-engagements and development keys count as the app asked, from then on for all that is stored', async () => {
  const world = await makeWorld()
  register(world, ours)
  const id = { 'postback-identifier': 'both' }
  await world.receive([
    skan({ 'did-win': false }, first_ms),
    aak({ 'conversion-type': 're-engagement' }, first_ms),
    aak({ 'conversion-type': 'redownload' }, first_ms),
    aak(id, first_ms, development_kid),
    aak(id, first_ms + 1),
  ])
  const said = async () =>
    (await world.rows('app')).map((row) => [row.protocol, row.postbacks, row.installs, row.redownloads, row.unverified])
  expect(await said()).toEqual([['aak', 3, 1, 1, 0]])
  world.storeApps.add({ app_id: 'app', store_id: `${item}`, development_keys: true })
  expect(await said()).toEqual([['aak', 4, 2, 1, 0]])
})

test('what strangers make up fills no page: beyond some rows of a day it is one row without names', async () => {
  const world = await makeWorld()
  register(world, ours)
  const known = skan({ 'ad-network-id': 'z.skadnetwork' }, first_ms)
  const madeUp = (n: number, ms = first_ms) => {
    const long = `a${String(n).padStart(2, '0')}${'x'.repeat(200)}`
    return forged(skan({ 'ad-network-id': long, 'source-identifier': long }, ms), ms)
  }
  const twice = Array.from({ length: report_unproven_rows_max }, (_, n) => [madeUp(n), madeUp(n)]).flat()
  const once = Array.from({ length: 30 }, (_, n) => madeUp(50 + n))
  await world.receive([
    known,
    ...once,
    ...twice,
    forged(skan({ 'ad-network-id': 'z.skadnetwork' }, first_ms), first_ms),
  ])
  await world.receive([madeUp(7, first_ms + day)])
  const rows = await world.rows('app')
  expect(rows).toHaveLength(1 + report_unproven_rows_max + 1 + 1)
  expect(rows[0]).toMatchObject({ day: '2026-03-01', network: '', source: '', postbacks: 0, unverified: 30 })
  expect(rows[1]).toMatchObject({ network: `a00${'x'.repeat(61)}`, source: `a00${'x'.repeat(61)}`, unverified: 2 })
  expect(rows.at(-2)).toMatchObject({ network: 'z.skadnetwork', postbacks: 1, installs: 1, unverified: 1 })
  expect(rows.at(-1)).toMatchObject({ day: '2026-03-02', network: `a07${'x'.repeat(61)}`, unverified: 1 })
  expect(await world.rows('app', { limit: 2, offset: 20 })).toEqual(rows.slice(20, 22))
})

test('the report takes the common parameters and no other', async () => {
  const world = await makeWorld()
  register(world, ours)
  for (const name of ['partner', 'event_name', 'attribution_type', 'days']) {
    const answer = await world.request('app', { [name]: 'x' })
    expect([answer.statusCode, answer.json().error, answer.json().field]).toEqual([400, 'unknown_parameter', name])
  }
  const answer = await world.request('app', { since_ms: 5, until_ms: 5 })
  expect(answer.json().error).toBe('since_ms_must_be_less_than_until_ms')
  expect(await world.rows('unknown_app')).toEqual([])
})
