import { randomUUID } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { KeptClick } from '@tributary/contracts/attribution/decision'
import { limits } from '@tributary/contracts/limits'
import { type AppWork, loadFacts } from '@tributary/deciding/evidence'
import { clickhouseLookups } from '@tributary/deciding/lookups/clickhouse-lookups'
import { otherOf } from '@tributary/domain/attribute/install-of'
import { clickRanges } from '@tributary/domain/attribute/match-click'
import { clickKeys, matchKey } from '@tributary/domain/attribute/match-keys'
import { clickColumns, clickLine } from '@tributary/tables/attribution/clicks'
import { factColumns, factLine } from '@tributary/tables/attribution/facts'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { roundsOf } from '@tributary/testing/rounds'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { fewMakeACrowd, story, tell } from './model/arrivals.ts'
import { memoryLookups } from './model/memory-lookups.ts'
import { mirrorOf } from './model/mirror.ts'
import { click, day_ms, hour_ms, install, t0 } from './model/story.ts'
import { apps } from './model/world.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

const real = { ...limits }
afterEach(() => void Object.assign(limits, real))

test.each([
  ['with', fewMakeACrowd],
  ['without', real],
])('the tables give every install the verdict and the reasons of the whole, %s crowded keys', async (_with, bounds) => {
  await fc.assert(
    fc.asyncProperty(story, async ({ clicks, facts, picks }) => {
      Object.assign(limits, bounds)
      const app_id = randomUUID()
      apps.add({ app_id, company_id: app_id })
      const own = <T extends object>(one: T) => ({ ...one, app_id, company_id: app_id })
      const { verdicts, expected } = await tell(
        { clicks: clicks.map(own), facts: facts.map(own), picks },
        mirrorOf(clickhouse),
      )
      expect(verdicts).toEqual(expected)
    }),
    { numRuns: roundsOf(1) },
  )
})

test('of a busy key the same clicks are found as without tables: none that can not win hides one that may', async () => {
  const app_id = randomUUID()
  const clicks = Array.from({ length: 1500 }, (_, n) => {
    const kind = [{ filtered_reason: 'bot' as const }, { lookback_hours: 1 }, {}][n % 3]
    return { ...click(n, { clicked_at_ms: t0 + (n - 1000) * 1000, ...kind, ip: '192.0.2.7' }), app_id }
  })
  await clickhouse.insert({
    ...{ table: 'clicks_raw_v1', columns: clickColumns, token: randomUUID() },
    lines: clicks.map((one) => clickLine(one, one.place)).join('\n'),
  })
  const one = install(1, { ip: '192.0.2.7', os_major: 15, installed_at_ms: t0, model: 'A' })
  const windows = { click_ms: 7 * day_ms, probabilistic_ms: day_ms, probabilistic: true }
  const ranges = clickRanges(one, windows).map((range) => ({ ...range, window_ms: 2 * hour_ms }))
  const inTables = await clickhouseLookups(clickhouse).clicks(app_id, [], ranges)
  const inMemory = await memoryLookups({ facts: [], clicks, newest: new Map(), floods: [] }).clicks(app_id, [], ranges)
  const idsOf = (found: readonly KeptClick[]) => found.map(({ click_id }) => click_id).toSorted()
  expect(idsOf(inTables)).toEqual(idsOf(inMemory))
  expect(inTables).toHaveLength(
    limits.install_candidates_max + limits.candidates_lost_max + limits.candidates_after_max,
  )
})

test('clicks of another app with the same keys and ids are not found, and an id whose time lies loses no click', async () => {
  const [app_id, other] = [randomUUID(), randomUUID()]
  const traits = { ip: '192.0.2.8', device_hashes: ['d'] }
  const lying = { ...click(1, traits), click_id: click(1, { clicked_at_ms: t0 - 40 * day_ms }).click_id }
  const clicks = [
    ...[lying, click(2, { ...traits, clicked_at_ms: t0 - 20 * day_ms })].map((one) => ({ ...one, app_id })),
    ...[lying, click(3, traits), click(4, traits)].map((one) => ({ ...one, app_id: other, partner: 'other' })),
  ]
  await clickhouse.insert({
    ...{ table: 'clicks_raw_v1', columns: clickColumns, token: randomUUID() },
    lines: clicks.map((one) => clickLine(one, one.place)).join('\n'),
  })
  const one = install(1, { ...traits, os_major: 15, installed_at_ms: t0, model: 'A' })
  const ranges = clickRanges(one, { click_ms: 7 * day_ms, probabilistic_ms: day_ms, probabilistic: true })
  const named = [lying.click_id, clicks[3]!.click_id]
  const { clicks: find } = clickhouseLookups(clickhouse)
  const namesOf = (found: readonly KeptClick[]) => found.map(({ place, partner }) => `${place.offset} ${partner}`)
  expect(namesOf(await find(app_id, named, ranges)).toSorted()).toEqual(['1 p', '2 p'])
  expect(namesOf(await find(app_id, [], ranges)).toSorted()).toEqual(['1 p', '2 p'])
  expect(namesOf(await find(other, [], ranges)).toSorted()).toEqual(['1 other', '3 other', '4 other'])
})

test('a click whose address was blanked is found with its keys', async () => {
  const app_id = randomUUID()
  const [whole, blanked] = [click(1, { ip: '192.0.2.9' }), click(2, { ip: '192.0.2.9' })].map((one) => ({
    ...one,
    app_id,
  }))
  const lines = [clickLine(whole!, whole!.place), clickLine(blanked!, blanked!.place).replace('"192.0.2.9"', '""')]
  await clickhouse.insert({
    ...{ table: 'clicks_raw_v1', columns: clickColumns, token: randomUUID() },
    lines: lines.join('\n'),
  })
  const ids = [whole!.click_id, blanked!.click_id]
  const found = await clickhouseLookups(clickhouse).clicks(app_id, ids, [])
  expect(found).toEqual([whole, { ...blanked, ip: '', match_keys: clickKeys(blanked!) }])
})

test('of many installs that each tell of the same thousand users a batch reads few facts, and still finds the reinstall', async () => {
  const app_id = randomUUID()
  const [installs, users] = [100, 1000]
  const keys = Array.from({ length: users }, (_, n) => matchKey('user', `u${n}`))
  const part = 50
  for (let from = 0; from < installs; from += part) {
    await clickhouse.command(`INSERT INTO install_facts_v1
      (app_id, install_uuid, day, received_at_ms, kind, fact, match_keys, topic, partition, offset, event_index)
      WITH concat('i', toString(intDiv(number, ${users}))) AS uuid, number % ${users} AS n, ${t0} + n AS at
      SELECT '${app_id}', uuid, '2099-06-01', at, 'alias',
        concat('{"kind":"alias","v":1,"company_id":"co_1","app_id":"${app_id}","install_uuid":"', uuid,
          '","received_at_ms":', toString(at), ',"place":{"topic":"events.accepted.v1@a","partition":0,"offset":',
          toString(number), ',"index":0},"user_id":"u', toString(n), '"}'),
        [CAST('[${keys.join(',')}]', 'Array(UInt64)')[n + 1]], 'events.accepted.v1@a', 0, number, 0
      FROM numbers(${from * users}, ${part * users})`)
  }
  const at = (n: number) => ({ topic: 'events.accepted.v1@a', partition: 0, offset: 1e7 + n, index: 0 })
  const earlier = { ...install(0), app_id, install_uuid: 'i7', user_id: null, place: at(0) }
  const later = { ...install(1), app_id, install_uuid: 'i8', user_id: 'u3', place: at(1) }
  const lines = [earlier, later].map(factLine).join('\n')
  await clickhouse.insert({ table: 'install_facts_v1', columns: factColumns, lines, token: randomUUID() })
  let read = 0
  const counting: Pick<Clickhouse, 'query'> = {
    async query<Row>(sql: string, params?: Record<string, unknown>) {
      const rows = await clickhouse.query<Row>(sql, params)
      read += rows.length
      return rows
    },
  }
  const app = { app_id, company_apps: [app_id] } as unknown as AppWork['app']
  const work: AppWork = {
    app,
    facts: [later],
    again: new Set(),
    windowsOf: (_install, newest) => newest!.windows,
    isErasedClick: () => false,
  }
  const { facts } = (await loadFacts(clickhouseLookups(counting), work)).neighbours
  expect(read).toBeLessThan(15_000)
  expect([...facts.values()].flat().length).toBeLessThan(500)
  expect(otherOf(facts.get('i7')!)?.aliases.map(({ user_id }) => user_id)).toEqual(['u3'])
})
