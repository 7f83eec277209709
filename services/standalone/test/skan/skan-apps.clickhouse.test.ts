import { limits } from '@tributary/contracts/limits'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { development_kid } from '@tributary/testing/postback/apple-twin'
import { first_ms } from '@tributary/testing/postback/random-postbacks'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { aak, day, forged, item, makeWorld, ours, register, short, skan } from './skan-stage.ts'

const { report_unproven_rows_max } = limits

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

test('what strangers make up fills no page: beyond some rows of a day it is one row without names', async () => {
  const world = await makeWorld(clickhouse)
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
