import { randomUUID } from 'node:crypto'
import type { Click } from '@tributary/contracts/attribution/click'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { openTombstones } from '@tributary/erasure/tombstones'
import { clickColumns, clickLine } from '@tributary/tables/attribution/clicks'
import { factColumns, factLine } from '@tributary/tables/attribution/facts'
import { installColumns, installLine } from '@tributary/tables/attribution/install-rows'
import { toDecision } from '@tributary/testing/engines/insert-verdicts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ErasureStage, openErasureStage } from './stage.ts'

let stage: ErasureStage
beforeAll(async () => {
  stage = await openErasureStage()
})
afterAll(() => stage.close())

// The engine lets clicks expire by its own clock.
const now_ms = Date.now()
const t0 = now_ms - 3 * day_ms
let places = 0
const place = () => {
  places += 1
  return { topic: 'events.accepted.v1@test', partition: 0, offset: places, index: 0 }
}

const fact = (app_id: string, install_uuid: string, more: Partial<InstallFact> = {}): InstallFact => ({
  ...{ kind: 'install', v: 1, company_id: 'co_1', app_id, install_uuid, received_at_ms: t0, place: place() },
  ...{ event_name: 'app_install', is_sdk: true, platform: 'android', installed_at_ms: t0, ip: '203.0.113.200' },
  ...{ os_major: 15, model: 'Pixel 9', device_hashes: [], user_id: null, referrer: null, named_click: null },
  ...{ referrer_click_server_s: null, install_begin_server_s: null },
  ...more,
})

const clickId = (n: number) => `0199${n.toString(16).padStart(4, '0')}-0000-7000-8000-000000000000`
const click = (app_id: string, n: number, more: Partial<Click> = {}): Click => ({
  ...{ v: 1, click_id: clickId(n), company_id: 'co_1', app_id, link_id: 'l', partner: 'acme', campaign: null },
  ...{ ad_group: null, creative: null, ext_click_id: null, sub1: null, sub2: null, sub3: null, sub4: null, sub5: null },
  ...{ deep_link: null, lookback_hours: null, clicked_at_ms: t0 - hour_ms, filtered_reason: null, ip: '198.51.100.9' },
  ...{ country: null, user_agent: 'a', os: 'android', os_major: 14, model: 'Nokia', device_hashes: [] },
  ...more,
})

const insert = (table: string, columns: readonly string[], lines: string[]) =>
  stage.clickhouse.insert({ table, columns, lines: lines.join('\n'), token: randomUUID() })

const decided = (app_id: string, install_uuid: string, click_id: string) => {
  const given = { install_uuid, installed_at_ms: t0, partner: 'acme', attribution_type: 'device_match' }
  const decision = toDecision(app_id, { ...given, reinstall: false, flagged: false, pending: false }, 1)
  const verdict = { ...decision.verdict!, click_id }
  return installLine({ decision: { ...decision, received_at_ms: t0, verdict }, sign: 1, place: place() })
}

test('clicks of an erased install go and never come back, and the installs that they or it concerned are decided again', async () => {
  const app_id = await stage.makeApp()
  const gone = fact(app_id, 'gone', { device_hashes: ['own', 'shared'], user_id: 'u', ip: '192.0.2.7' })
  const facts = [
    gone,
    fact(app_id, 'sharer', { device_hashes: ['shared'] }),
    fact(app_id, 'same-user', { user_id: 'u' }),
    fact(app_id, 'burst', { ip: '192.0.2.99', received_at_ms: t0 + hour_ms - 1 }),
    fact(app_id, 'after-the-hour', { ip: '192.0.2.98', received_at_ms: t0 + 2 * hour_ms }),
    fact(app_id, 'candidate', { ip: '198.51.100.9', os_major: 14, model: 'Nokia' }),
    fact(app_id, 'stranger'),
  ]
  const clicks = [
    click(app_id, 1),
    click(app_id, 2, { device_hashes: ['own'], ip: '198.51.100.10' }),
    click(app_id, 3, { device_hashes: ['shared'], ip: '198.51.100.11' }),
  ]
  await insert('install_facts_v1', factColumns, facts.map(factLine))
  await insert(
    'clicks_raw_v1',
    clickColumns,
    clicks.map((one) => clickLine(one, place())),
  )
  await insert('installs_v1', installColumns, [
    decided(app_id, 'gone', clickId(1)),
    decided(app_id, 'sharer', clickId(3)),
  ])
  const again: string[] = []
  await stage.request(app_id, ['gone'], 'sdk', now_ms)
  const waited: number[] = []
  await stage.run({
    now: () => now_ms + 1,
    redecisions: {
      async add(installs) {
        again.push(...installs.map(({ install_uuid }) => install_uuid))
      },
    },
    async findOlderWork(number) {
      waited.push(number)
      return []
    },
  })
  expect(again.toSorted()).toEqual(['burst', 'candidate', 'same-user', 'sharer'])
  for (const table of ['clicks_raw_v1', 'click_keys_v1']) {
    const left = await stage.clickhouse.query(`SELECT DISTINCT click_id FROM ${table} WHERE app_id = '${app_id}'`)
    expect(left, table).toEqual([{ click_id: clickId(3) }])
  }
  for (const table of ['install_facts_v1', 'install_fact_keys_v1', 'installs_v1', 'install_claims_v1']) {
    const left = await stage.clickhouse.query(
      `SELECT 1 FROM ${table} WHERE app_id = '${app_id}' AND install_uuid = 'gone'`,
    )
    expect(left, table).toEqual([])
  }
  const store = openTombstones(stage)
  const newest = await store.newest()
  const tombstones = await store.upTo(newest)
  expect([1, 2, 3].map((n) => tombstones.isErasedClick(app_id, clickId(n)))).toEqual([true, true, false])
  // The eraser waits for batches that lack the tombstones of the clicks before these go.
  expect(waited.at(-1)).toBe(newest)
})

test.each([
  ['an address', { ip: '192.0.2.7' }],
  ['a device', { ip: null, device_hashes: ['crowd'] }],
  ['a user', { ip: null, user_id: 'crowd' }],
  ['a click', { ip: null, named_click: { click_id: clickId(9), signature: 'valid' as const } }],
])('of many installs with the key of an erased one, %s, the 50 behind it are decided again', async (_what, clues) => {
  const app_id = await stage.makeApp()
  const facts = Array.from({ length: 120 }, (_, n) =>
    fact(app_id, `i${n}`, { ...clues, is_sdk: false, installed_at_ms: t0 + n }),
  )
  await insert('install_facts_v1', factColumns, facts.map(factLine))
  await stage.request(app_id, ['i10', 'i20'], 'sdk', now_ms)
  const again: string[] = []
  await stage.run({
    now: () => now_ms + 1,
    redecisions: { add: async (installs) => void again.push(...installs.map(({ install_uuid }) => install_uuid)) },
  })
  const wanted = facts.slice(11, 71).flatMap(({ install_uuid }) => (install_uuid === 'i20' ? [] : install_uuid))
  expect([...new Set(again)].toSorted()).toEqual(wanted.toSorted())
})

test('every click of a device goes, also when there are more than fit in a batch and each has several devices', async () => {
  const app_id = await stage.makeApp()
  // Devices in the order of their hashes: a page of click_keys_v1 ends in the clicks of the second one, which are
  // those of the first.
  const many = ['own-1', 'own-2', 'own-5']
  await insert('install_facts_v1', factColumns, [
    factLine(fact(app_id, 'flooded', { device_hashes: [...many, 'own-6'] })),
  ])
  const clicks = Array.from({ length: 120 }, (_, n) =>
    click(app_id, 1000 + n, { device_hashes: n < 60 ? many : ['own-6'] }),
  )
  await insert(
    'clicks_raw_v1',
    clickColumns,
    clicks.map((one) => clickLine(one, place())),
  )
  await stage.request(app_id, ['flooded'], 'sdk', now_ms)
  await stage.run({ now: () => now_ms + 1 })
  for (const table of ['clicks_raw_v1', 'click_keys_v1', 'install_facts_v1']) {
    const left = await stage.clickhouse.query(`SELECT count() AS n FROM ${table} WHERE app_id = '${app_id}'`)
    expect(left, table).toEqual([{ n: 0 }])
  }
})

test('every click of a device goes, also when an install tells of more devices than fit in a batch', async () => {
  const app_id = await stage.makeApp()
  const devices = Array.from({ length: 170 }, (_, n) => `device-${n}`)
  const facts = devices.map((device) => fact(app_id, 'changing', { device_hashes: [device, 'always'] }))
  await insert('install_facts_v1', factColumns, [
    ...facts.map(factLine),
    factLine(fact(app_id, 'sharer', { device_hashes: ['device-120'] })),
  ])
  const clicks = ['device-0', 'device-79', 'device-80', 'device-120', 'device-169', 'always'].map((device, n) =>
    click(app_id, 3000 + n, { device_hashes: [device] }),
  )
  await insert(
    'clicks_raw_v1',
    clickColumns,
    clicks.map((one) => clickLine(one, place())),
  )
  await stage.request(app_id, ['changing'], 'sdk', now_ms)
  await stage.run({ now: () => now_ms + 1 })
  const left = await stage.clickhouse.query(`SELECT DISTINCT click_id FROM clicks_raw_v1 WHERE app_id = '${app_id}'`)
  expect(left).toEqual([{ click_id: clickId(3003) }])
  const ofInstall = await stage.clickhouse.query(
    `SELECT 1 FROM install_facts_v1 WHERE app_id = '${app_id}' AND install_uuid = 'changing'`,
  )
  expect(ofInstall).toEqual([])
})

test('keys of clicks whose rows have expired keep no verdict of an erased install', async () => {
  const app_id = await stage.makeApp()
  const device_hashes = ['expired']
  await insert('install_facts_v1', factColumns, [factLine(fact(app_id, 'owner', { device_hashes }))])
  await insert('installs_v1', installColumns, [decided(app_id, 'owner', '')])
  const clicks = Array.from({ length: 120 }, (_, n) => click(app_id, 2000 + n, { device_hashes }))
  await insert(
    'clicks_raw_v1',
    clickColumns,
    clicks.map((one) => clickLine(one, place())),
  )
  // Each table drops expired rows when it merges parts.
  await stage.clickhouse.command(
    `DELETE FROM clicks_raw_v1 WHERE app_id = '${app_id}' AND click_id < '${clickId(2110)}'`,
  )
  await stage.request(app_id, ['owner'], 'sdk', now_ms)
  await stage.run({ now: () => now_ms + 1 })
  for (const table of ['clicks_raw_v1', 'install_facts_v1', 'installs_v1']) {
    const left = await stage.clickhouse.query(`SELECT count() AS n FROM ${table} WHERE app_id = '${app_id}'`)
    expect(left, table).toEqual([{ n: 0 }])
  }
})
