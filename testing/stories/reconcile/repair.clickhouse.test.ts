import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { clickWriter } from '@tributary/click-writer/click-writer'
import { textLiteral } from '@tributary/clickhouse/literals'
import type { Click } from '@tributary/contracts/attribution/click'
import { consumers } from '@tributary/contracts/consumers'
import { day_ms, limits } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { postbackWriter } from '@tributary/postback-writer/postback-writer'
import { type RunningConsumer, runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { every } from '@tributary/service-kit/service/every'
import { clickRecord } from '@tributary/tables/attribution/records'
import { repairTables } from '@tributary/tables/repair/repair-tables'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { createAppleTwin } from '@tributary/testing/postback/apple-twin'
import { memoryAttributionApps } from '@tributary/testing/twins/attribution-apps'
import { memoryRedecisions } from '@tributary/testing/twins/memory-redecisions'
import { noLateDays } from '@tributary/testing/twins/no-late-days'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { admin_token, loseEvents, openWorld, patience, type Tenant, type World } from '../replay/replay-world.ts'
import { hourOf, openOwnPool, openReconciler, type Reconciler, send } from './reconcile-world.ts'

const logger = pino({ level: 'silent' })
const apple = createAppleTwin()
const day = utcDay(Date.now() - 2 * day_ms)
const start_ms = Date.parse(`${day}T09:20:00Z`)
let clickhouse: TestClickhouse
let postgres: TestPostgres
let own: Pool
let world: World
let reconciler: Reconciler
let tenant: Tenant
let running: (RunningConsumer | ReturnType<typeof every>)[]
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
  own = await openOwnPool(postgres)
})
afterAll(async () => {
  await own.end()
  await Promise.all([clickhouse.close(), postgres.close()])
})
beforeEach(async () => {
  await loseEvents(clickhouse, () => false)
  world = await openWorld({ clickhouse, pool: postgres.pool })
  world.clock.now_ms = start_ms
  reconciler = openReconciler({ world, clickhouse, pool: own, asking: postgres.pool })
  tenant = await world.newTenant()
  const { broker, audit } = world
  const now = () => world.clock.now_ms
  const consume = { broker, logger, now, registry: new Registry() }
  const fetch = { bytes_min: 1, bytes_max: 64 * 1024, wait_ms_max: 10 }
  running = [
    await runConsumer({
      ...{ ...consume, fetch },
      consumer: clickWriter({
        ...{ clickhouse, audit, redecisions: memoryRedecisions(), attributionApps: memoryAttributionApps() },
        ...{ late: noLateDays, logger, now },
      }),
    }),
    await runConsumer({
      ...{ ...consume, registry: new Registry(), fetch },
      consumer: postbackWriter({ clickhouse, postbackKeys: { current: () => apple.keys }, logger }),
    }),
    every({ name: 'reconcile', pause_ms: 50, logger, registry: new Registry(), work: reconciler.whenAsked }),
  ]
})
afterEach(async () => {
  await Promise.all(running.map((one) => one.close()))
  await world.close()
})

const main = fileURLToPath(import.meta.resolve('@tributary/cli/main'))

/** Exit code and answer of the command. */
async function reconcile(...more: string[]) {
  world.clock.now_ms += limits.reconcile_young_ms + 1
  const env = { PATH: process.env.PATH, TRIBUTARY_URL: world.url, TRIBUTARY_ADMIN_TOKEN: admin_token }
  const child = spawn(process.execPath, [main, 'reconcile', '--since', day, '--json', ...more], { env })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  expect(stderr).toBe('')
  return { code, ...JSON.parse(stdout) }
}

async function untilWritten() {
  await world.untilWritten()
  for (const { name, topic } of [consumers.clickWriter, consumers.postbackWriter])
    await vi.waitFor(async () => {
      const offsets = await world.broker.groupOffsets(name, topic.name)
      expect(offsets.filter(({ committed, earliest, end }) => (committed ?? earliest) < end)).toEqual([])
    }, patience)
}

const clickOf = (): Click => {
  const absent = { ad_group: null, creative: null, ext_click_id: null, deep_link: null, country: null }
  const subs = { sub1: null, sub2: null, sub3: null, sub4: null, sub5: null, lookback_hours: null }
  return {
    ...{ v: 1, click_id: randomUUID().replace(/(?<=^.{14})4/, '7'), company_id: 'co_1', app_id: tenant.app_id },
    ...{ link_id: 'l', partner: 'acme', campaign: 'c', ...absent, ...subs, clicked_at_ms: start_ms },
    ...{ filtered_reason: null, ip: '192.0.2.1', user_agent: 'x', os: 'android', os_major: 14, model: null },
    device_hashes: [],
  }
}

const remove = (table: string, where: string) =>
  clickhouse.command(`ALTER TABLE ${table} DELETE WHERE ${where} SETTINGS mutations_sync = 2`)

test('--repair brings back events that the log lost, clicks and postbacks, and ends with 0', async () => {
  await send(world, tenant, 3)
  const clicks = [clickOf(), clickOf()]
  await world.broker.publish(clicks.map((click) => clickRecord(click, 3)))
  const audited = { protocol: 'skan', content_type: '', body: '{"a":1}', headers: {}, received_at_ms: start_ms }
  const key = `postbacks/skan/${day.replaceAll('-', '/')}/${start_ms}-g-0.jsonl.gz`
  await world.audit.putOnce(key, gzipSync(`${JSON.stringify(audited)}\n`))
  world.log.before = async () => {
    throw new Error('dropped')
  }
  await expect(send(world, tenant, 2)).rejects.toThrow('answered 503')
  world.log.before = async () => {}
  await untilWritten()
  await remove('clicks_raw_v1', `click_id = ${textLiteral(clicks[0]!.click_id)}`)

  const found = await reconcile()
  const at = { hour: hourOf(start_ms) }
  expect(found).toMatchObject({ code: 1, repaired: 0 })
  expect(found.differences).toMatchObject([
    { ...at, app_id: tenant.app_id, store: 'events.accepted.v1', expected: 5, found: 3 },
    { ...at, app_id: tenant.app_id, store: 'clicks_raw_v1', expected: 2, found: 1 },
    { ...at, app_id: '', store: 'postbacks_raw_v1', expected: 1, found: 0 },
  ])
  expect(await reconcile('--repair')).toMatchObject({ code: 0, differences: [], repaired: 3 })
  expect(await reconcile('--repair')).toMatchObject({ code: 0, differences: [], repaired: 0 })
  const [{ events } = { events: 0 }] = await clickhouse.query<{ events: number }>(
    'SELECT uniqExact(event_id) AS events FROM events_raw_v1',
  )
  expect(events).toBe(5)
})

test('a row that is gone while its key is there is left, until the tables are rebuilt', async () => {
  const [gone] = await send(world, tenant, 3)
  await untilWritten()
  await remove('events_raw_v1', `event_id = ${textLiteral(gone!)}`)
  const left = await reconcile('--repair')
  expect(left).toMatchObject({ code: 1, repaired: 0, differences: [{ store: 'events_raw_v1', expected: 3, found: 2 }] })
  await repairTables({ clickhouse, goesOn: [], everything: true, logger, beforeRefill: async () => {} })
  expect(await reconcile()).toMatchObject({ code: 1, differences: [{ store: 'events.accepted.v1', found: 2 }] })
  expect(await reconcile('--repair')).toMatchObject({ code: 0, differences: [], repaired: 1 })
})

test('what no audit object can bring back is left, with the exit code 1', async () => {
  await send(world, tenant, 3)
  await untilWritten()
  const app = textLiteral(tenant.app_id)
  await clickhouse.command(
    `INSERT INTO events_per_day_v1 (app_id, day, event_name, currency, events, revenue_micros) VALUES (${app}, '${day}', 'level_up', '', 1, 0)`,
  )
  const left = await reconcile('--repair', '--app', tenant.app_id)
  expect(left).toMatchObject({ code: 1, repaired: 0, differences: [{ store: 'events_per_day_v1' }] })
})
