import { limits } from '@tributary/contracts/limits'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { development_kid } from '@tributary/testing/postback/apple-twin'
import { expectedSkanReport } from '@tributary/testing/postback/expected-skan-report'
import { writeJson } from '@tributary/testing/postback/json'
import { first_ms } from '@tributary/testing/postback/random-postbacks'
import type { ReceivedPostback } from '@tributary/testing/postback/received'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

import { aak, apple, day, forged, item, makeWorld, ours, register, short, skan } from './skan-stage.ts'

const { report_unproven_groups_max } = limits

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

test('an app has the postbacks of its store id the moment it has it, and nobody else has them', async () => {
  const world = await makeWorld(clickhouse)
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
  const world = await makeWorld(clickhouse)
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

test('of what strangers make up 1000 groups of a day keep their names, and the others are one row: so loops count too', async () => {
  const world = await makeWorld(clickhouse)
  register(world, ours)
  const madeUp = (n: number, ms = first_ms, id = `${n}`): ReceivedPostback => ({
    ...{ protocol: 'skan', received_at_ms: ms },
    body: writeJson({ version: '4.0', 'app-id': item, 'transaction-id': id, 'ad-network-id': `m${n}` }),
  })
  const once = Array.from({ length: report_unproven_groups_max + 50 }, (_, n) => madeUp(n))
  const postbacks = [
    skan({ 'ad-network-id': 'z.skadnetwork' }, first_ms),
    forged(skan({ 'ad-network-id': 'z.skadnetwork', 'transaction-id': 'f' }, first_ms), first_ms),
    ...once,
    madeUp(900, first_ms + 1, 'more'), // a group with more postbacks keeps its name
    madeUp(report_unproven_groups_max + 49, first_ms + 1, 'more'),
    ...[1, 2].map((n) => madeUp(n, first_ms + day)),
  ]
  await world.receive(postbacks, { chunk: 2000 })
  const window = { since_ms: first_ms - day, until_ms: first_ms + 9 * day }
  const expected = expectedSkanReport({ postbacks, apps: [ours], keys: apple.keys }, ours, window)
  expect(expected).toHaveLength(report_unproven_groups_max + 1 + 1 + 2)
  expect(expected[0]).toMatchObject({ network: '', source: '', postbacks: 0, unverified: 50 })
  const pages = await Promise.all([0, 1000].map((offset) => world.rows('app', { ...window, offset })))
  expect(pages.flat()).toEqual(expected)
  const meta = async (asked: object) => (await world.request('app', { ...window, ...asked })).json().meta
  expect(await meta({ limit: 1, offset: 1002 })).toMatchObject({ groups_folded: true })
  expect(await meta({ since_ms: first_ms + day })).not.toHaveProperty('groups_folded')
  expect((await world.request('app', { ...window, format: 'csv' })).headers['x-groups-folded']).toBe('true')
  // A period takes each day as its rows do.
  const weeks = await world.request('app', { ...window, group: 'month', limit: 1 })
  expect(weeks.json().rows).toMatchObject([{ day: '2026-03-01', network: '', unverified: 50 }])
})

test('however many items strangers make up that an app showed ads for, each postback counts as loops count it', async () => {
  const before = limits.report_published_items_max
  onTestFinished(() => void Object.assign(limits, { report_published_items_max: before }))
  const world = await makeWorld(clickhouse)
  // The last ones are of another app here, as some are in an attack.
  const others = [57, 58].map((n) => ({ ...ours, app_id: `app_${n}`, store_id: `${item + n}` }))
  const apps = [ours, ...others]
  for (const app of apps) register(world, app)
  const postbacks = [
    skan({ 'app-id': item + 59, 'source-app-id': item }, first_ms),
    skan({ 'app-id': item + 57, 'source-app-id': item }, first_ms),
    ...Array.from({ length: 58 }, (_, n) => n + 1).map((n) => {
      const body = { version: '4.0', 'app-id': item + n, 'transaction-id': `${n}`, 'ad-network-id': `m${n % 7}` }
      return {
        protocol: 'skan' as const,
        received_at_ms: first_ms,
        body: writeJson({ ...body, 'source-app-id': item }),
      }
    }),
  ]
  await world.receive(postbacks)
  const window = { since_ms: first_ms - day, until_ms: first_ms + 9 * day }
  const history = { postbacks, apps, keys: apple.keys }
  for (const max of [10, 1000]) {
    Object.assign(limits, { report_published_items_max: max })
    for (const app of apps) {
      expect(await world.rows(app.app_id, window)).toEqual(expectedSkanReport(history, app, window))
    }
  }
})

test('a text that nobody signed is cut off', async () => {
  const world = await makeWorld(clickhouse)
  register(world, ours)
  const long = 'x'.repeat(200)
  await world.receive([forged(skan({ 'ad-network-id': long, 'source-identifier': long }, first_ms), first_ms)])
  expect(await world.rows('app')).toMatchObject([{ network: 'x'.repeat(64), source: 'x'.repeat(64), unverified: 1 }])
})

test('the report takes the common parameters and no other', async () => {
  const world = await makeWorld(clickhouse)
  register(world, ours)
  for (const name of ['partner', 'event_name', 'attribution_type', 'days']) {
    const answer = await world.request('app', { [name]: 'x' })
    expect([answer.statusCode, answer.json().error, answer.json().field]).toEqual([400, 'unknown_parameter', name])
  }
  const answer = await world.request('app', { since_ms: 5, until_ms: 5 })
  expect(answer.json().error).toBe('since_ms_must_be_less_than_until_ms')
  expect(await world.rows('unknown_app')).toEqual([])
})
