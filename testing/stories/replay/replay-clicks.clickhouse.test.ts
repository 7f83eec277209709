import { clickWriter } from '@tributary/click-writer/click-writer'
import type { Click } from '@tributary/contracts/attribution/click'
import { consumers } from '@tributary/contracts/consumers'
import { day_ms } from '@tributary/contracts/limits'
import { type RunningConsumer, runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { readClickArchives } from '@tributary/tables/attribution/click-archive'
import { clickRecord } from '@tributary/tables/attribution/records'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { memoryAttributionApps } from '@tributary/testing/twins/attribution-apps'
import { memoryRedecisions } from '@tributary/testing/twins/memory-redecisions'
import { noLateDays } from '@tributary/testing/twins/no-late-days'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { loseEvents, openWorld, patience, type Tenant, type World } from './replay-world.ts'

let clickhouse: TestClickhouse
let postgres: TestPostgres
let world: World
let writer: RunningConsumer
let tenants: [Tenant, Tenant]
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
})
afterAll(() => Promise.all([clickhouse.close(), postgres.close()]))
beforeEach(async () => {
  await loseEvents(clickhouse, () => false)
  world = await openWorld({ clickhouse, pool: postgres.pool })
  const { broker, audit } = world
  const logger = pino({ level: 'silent' })
  writer = await runConsumer({
    ...{ broker, logger, now: Date.now, registry: new Registry() },
    consumer: clickWriter({
      clickhouse,
      audit,
      redecisions: memoryRedecisions(),
      attributionApps: memoryAttributionApps(),
      late: noLateDays,
      logger,
      now: Date.now,
    }),
    fetch: { bytes_min: 1, bytes_max: 8 * 1024, wait_ms_max: 10 },
  })
  tenants = [await world.newTenant(), await world.newTenant()]
})
afterEach(async () => {
  await writer.close()
  await world.close()
})

const absent = {
  ad_group: null,
  creative: null,
  ext_click_id: null,
  deep_link: null,
  country: null,
  lookback_hours: null,
}
const subs = { sub1: null, sub2: null, sub3: null, sub4: null, sub5: null }

function clickOf(app_id: string, n: number, clicked_at_ms = Date.now() - n): Click {
  const click_id = `018f0000-0000-7000-8000-${app_id.slice(-6)}${n.toString(16).padStart(6, '0')}`
  return {
    ...{ v: 1, click_id, company_id: 'co_1', app_id, link_id: 'l', partner: 'acme', campaign: 'c', ...absent, ...subs },
    ...{ clicked_at_ms, filtered_reason: null, ip: '192.0.2.1', user_agent: 'x', os: 'android', os_major: 14 },
    ...{ model: null, device_hashes: ['d'] },
  }
}

async function record(clicks: readonly Click[]) {
  await world.broker.publish(clicks.map((click) => clickRecord(click, 3)))
  const { name, topic } = consumers.clickWriter
  await vi.waitFor(async () => {
    const offsets = await world.broker.groupOffsets(name, topic.name)
    expect(offsets.filter(({ committed, earliest, end }) => (committed ?? earliest) < end)).toEqual([])
  }, patience)
}

/** The clicks and what they are found by, without their positions on the log. */
const stored = async () => ({
  clicks: await clickhouse.query('SELECT * EXCEPT (topic, partition, offset) FROM clicks_raw_v1 FINAL ORDER BY ALL'),
  keys: await clickhouse.query('SELECT *, toString(match_key) AS match_key FROM click_keys_v1 FINAL ORDER BY ALL'),
})

/** Outcome of a replay that filled nothing: there is no `clicks_filled`. */
const nothing_filled = { unknown_reasons: {}, at: expect.any(String), percent: 100, seconds: expect.any(Number) }

test('a replay of the audit store brings back archived clicks that the tables lack, each once', async () => {
  const [mine, other] = tenants
  const clicks = Array.from({ length: 40 }, (_, n) => clickOf(n % 2 === 0 ? mine.app_id : other.app_id, n))
  await record(clicks)
  const before = await stored()
  expect(before.clicks).toHaveLength(40)
  const whole = { state: 'done', replayed: 0, filled: 0, unknown: 0 }
  expect(await world.replay({ source: 'audit' })).toEqual({ ...whole, ...nothing_filled })
  await loseEvents(clickhouse, () => false)
  expect(await world.replay({ source: 'audit', dry_run: true })).toMatchObject({ state: 'done', clicks_filled: 40 })
  expect((await stored()).clicks).toHaveLength(0)
  expect(await world.replay({ source: 'audit', app_id: mine.app_id })).toMatchObject({ clicks_filled: 20 })
  expect(await world.replay({ source: 'audit' })).toMatchObject({ state: 'done', clicks_filled: 20, filled: 0 })
  expect(await stored()).toEqual(before)
  expect(await world.replay({ source: 'audit' })).toEqual({ ...whole, ...nothing_filled })
})

test('a replay leaves out clicks that ClickHouse drops for their age, and those of apps that are gone', async () => {
  const [mine] = tenants
  await record([
    clickOf(mine.app_id, 1, Date.now() - 91 * day_ms),
    clickOf('app_gone000000', 2),
    clickOf(mine.app_id, 3),
  ])
  await loseEvents(clickhouse, () => false)
  const end = await world.replay({ source: 'audit' })
  expect(end).toMatchObject({ state: 'done', clicks_filled: 1, unknown: 0 })
})

test('a replay archives no click again, so that retention and erasures find each in the archive of its day alone', async () => {
  const [mine] = tenants
  const clicks = Array.from({ length: 5 }, (_, n) => clickOf(mine.app_id, n))
  await record(clicks)
  const before = await Array.fromAsync(readClickArchives(world.audit))
  await loseEvents(clickhouse, () => false)
  expect(await world.replay({ source: 'audit' })).toMatchObject({ state: 'done', clicks_filled: 5 })
  expect((await stored()).clicks).toHaveLength(5)
  expect(await Array.fromAsync(readClickArchives(world.audit))).toEqual(before)
  expect(before.flatMap((archive) => archive.clicks!)).toHaveLength(5)
})
