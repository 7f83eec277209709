import { randomUUID } from 'node:crypto'
import { postbackKeys } from '@tributary/domain/postback/keys'
import { judgeAgain } from '@tributary/postback-writer/judge-again'
import { skanReport } from '@tributary/report-api/reports/skan'
import { findPostbacks } from '@tributary/tables/rows/find-postbacks'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { aakPayload, createAppleTwin, production_kid } from '@tributary/testing/postback/apple-twin'
import { expectedSkanReport } from '@tributary/testing/postback/expected-skan-report'
import { writeJson } from '@tributary/testing/postback/json'
import { days, first_ms, randomPostbacks, storeApps as twoApps } from '@tributary/testing/postback/random-postbacks'
import type { ReceivedPostback } from '@tributary/testing/postback/received'
import { roundsOf } from '@tributary/testing/rounds'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { apple, day, forged, item, makeWorld, ours, register, short, skan } from './skan-stage.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

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
      const world = await makeWorld(clickhouse)
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
    { numRuns: roundsOf(4) },
  )
  expect(rows).toBeGreaterThan(20)
})

test('the first valid postback counts: forgeries before it, resends and other values after it do not', async () => {
  const world = await makeWorld(clickhouse)
  register(world, ours)
  const first = skan({ 'transaction-id': 't1' }, first_ms, { 'conversion-value': 5 })
  const other = { ...first, body: first.body.replace('"conversion-value":5', '"conversion-value":63') }
  const resends = Array.from({ length: 9 }, (_, n) => ({ ...first, received_at_ms: first_ms + (n + 1) * day }))
  await world.receive([forged(first, first_ms - day)])
  expect(short(await world.rows('app'))).toEqual(['2026-02-28 0/0/1 {}'])
  await world.receive([first, ...resends, forged(other, first_ms + 2), { ...other, received_at_ms: first_ms + 1 }])
  expect(short(await world.rows('app'))).toEqual(['2026-03-01 1/1/0 {"5":1}'])
  // Whoever follows an install is shown each once too.
  const shown = await findPostbacks(clickhouse, ['7', ours.store_id], first_ms - day)
  expect(shown).toMatchObject([{ store_id: ours.store_id, at_ms: first_ms, protocol: 'skan', fine: 5 }])
  expect(await findPostbacks(clickhouse, [ours.store_id], first_ms + 20 * day)).toEqual([])
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
  const world = await makeWorld(clickhouse)
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
  const world = await makeWorld(clickhouse)
  register(world, ours)
  const first = skan({ 'transaction-id': 't2' }, first_ms + day, { 'conversion-value': 1 })
  const variant = (n: number) => ({
    ...{ ...first, received_at_ms: first_ms + n },
    body: first.body.replace('"conversion-value":1', `"conversion-value":${n}`),
  })
  await world.receive([first])
  expect(short(await world.rows('app'))).toEqual(['2026-03-02 1/1/0 {"1":1}'])
  // They come from a gateway whose log was read late.
  await world.receive(Array.from({ length: 60 }, (_, n) => variant(n + 2)))
  expect(short(await world.rows('app'))).toEqual(['2026-03-01 1/1/0 {"2":1}'])
})

test('what was resent of other apps takes no memory of a report', async () => {
  const world = await makeWorld(clickhouse)
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
  const page = { limit: 100, offset: 0, count_rows: true, filters: {}, group: 'day' as const }
  const { rows } = await skanReport(sources, { app_id: 'app', since_ms: first_ms, until_ms: first_ms + day, ...page })
  expect(short(rows)).toEqual(['2026-03-01 1/1/0 {"1":1}'])
})
