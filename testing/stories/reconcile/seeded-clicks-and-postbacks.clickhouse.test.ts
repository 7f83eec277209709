import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { textLiteral } from '@tributary/clickhouse/literals'
import type { KeptClick } from '@tributary/contracts/attribution/decision'
import { day_ms } from '@tributary/contracts/limits'
import type { PostbackReceived } from '@tributary/contracts/postback/received'
import { utcDay } from '@tributary/domain/utc-day'
import { archiveClicks } from '@tributary/tables/attribution/click-archive'
import { clickColumns, clickLine } from '@tributary/tables/attribution/clicks'
import type { TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { beforeEach, expect, test } from 'vitest'
import type { Tenant, World } from '../replay/replay-world.ts'
import { hourOf, objectsBelow, type Reconciler, reconcileStage } from './reconcile-world.ts'

let clickhouse: TestClickhouse
let world: World
let reconciler: Reconciler
let tenants: Tenant[]

/** The engine drops clicks of 90 days ago by its own clock. */
const day = utcDay(Date.now() - 2 * day_ms)
const start_ms = Date.parse(`${day}T09:20:00Z`)
const folder = day.replaceAll('-', '/')

const stage = reconcileStage(start_ms + 1000)
beforeEach(() => {
  ;({ clickhouse, world, reconciler, tenants } = stage)
})

const absent = { ad_group: null, creative: null, ext_click_id: null, deep_link: null, country: null }
const subs = { sub1: null, sub2: null, sub3: null, sub4: null, sub5: null, lookback_hours: null }
const topic = 'clicks.recorded.v1@0000'

const clickOf = (app_id: string, offset: number, clicked_at_ms: number): KeptClick => ({
  ...{ v: 1, click_id: randomUUID().replace(/(?<=^.{14})4/, '7'), company_id: 'co_1', app_id, link_id: 'l' },
  ...{ partner: 'acme', campaign: 'c', ...absent, ...subs, clicked_at_ms, filtered_reason: null, ip: '192.0.2.1' },
  ...{ user_agent: 'x', os: 'android', os_major: 14, model: null, device_hashes: [] },
  place: { topic, partition: 0, offset, index: 0 },
})

/** A batch of clicks of both apps, as click-writer leaves them. */
async function writeClicks(count: number): Promise<KeptClick[]> {
  const clicks = Array.from({ length: count }, (_, n) => clickOf(tenants[n % 2]!.app_id, n, start_ms + n))
  const batch = { source: topic, partition: 0, from: 0, to: count - 1, day }
  await archiveClicks(world.audit, batch, clicks)
  const lines = clicks.map(({ place, ...click }) => clickLine(click, place)).join('\n')
  await clickhouse.insert({ table: 'clicks_raw_v1', columns: clickColumns, lines, token: randomUUID() })
  return clicks
}

const received_at_ms = start_ms + 5
const audit_key = `postbacks/skan/${folder}/${start_ms}-g-0.jsonl.gz`
const postbackOf = (body: string): PostbackReceived => ({
  ...{ v: 1, protocol: 'skan', content_type: '', body, headers: {}, received_at_ms, audit_key },
})

async function writePostbacks(bodies: readonly string[]): Promise<void> {
  const lines = bodies.map((body) => {
    const { v: _, audit_key: __, ...line } = postbackOf(body)
    return `${JSON.stringify(line)}\n`
  })
  await world.audit.putOnce(audit_key, gzipSync(lines.join('')))
  const columns = [
    'day',
    'received_at_ms',
    'protocol',
    'content_type',
    'body',
    'audit_key',
    'topic',
    'partition',
    'offset',
  ]
  const rows = bodies.map((body, offset) =>
    JSON.stringify([day, received_at_ms, 'skan', '', body, audit_key, 'postbacks.received.v1@0', 0, offset]),
  )
  await clickhouse.insert({ table: 'postbacks_raw_v1', columns, lines: rows.join('\n'), token: randomUUID() })
}

test('clicks and postbacks that are where they should be have no difference', async () => {
  await writeClicks(6)
  await writePostbacks(['{"a":1}', '{"a":2}'])
  expect(await reconciler.ask({ since_ms: start_ms })).toMatchObject({ hours: 3, differences: [] })
})

test('a click that was lost is named with its app, its hour and its archive', async () => {
  const clicks = await writeClicks(6)
  await clickhouse.command(
    `ALTER TABLE clicks_raw_v1 DELETE WHERE click_id = ${textLiteral(clicks[3]!.click_id)} SETTINGS mutations_sync = 2`,
  )
  const { differences } = await reconciler.ask({ since_ms: start_ms })
  expect(differences).toEqual([
    {
      ...{ app_id: tenants[1]!.app_id, hour: hourOf(start_ms), store: 'clicks_raw_v1', expected: 3, found: 2 },
      examples: [expect.stringContaining(`click ${clicks[3]!.click_id} in clicks/${folder}/`)],
    },
  ])
  expect(await reconciler.ask({ since_ms: start_ms, app_id: tenants[0]!.app_id })).toMatchObject({ differences: [] })
})

test('an archive of clicks that is corrupt is named', async () => {
  await writeClicks(2)
  const [key] = await objectsBelow(world.audit, 'clicks/')
  await world.audit.replace(key!, (await world.audit.get(key!))!, Buffer.from('no gzip'))
  const { differences } = await reconciler.ask({ since_ms: start_ms })
  expect(differences).toEqual([
    {
      ...{ app_id: '', hour: `${day}T00:00:00Z`, store: 'audit', expected: 1, found: 0 },
      examples: [`${key} can't be read`],
    },
  ])
})

test('a postback that was lost is named with its hour and its object', async () => {
  await writePostbacks(['{"a":1}', '{"a":2}', '{"a":3}'])
  await clickhouse.command(`ALTER TABLE postbacks_raw_v1 DELETE WHERE offset = 1 SETTINGS mutations_sync = 2`)
  const { differences } = await reconciler.ask({ since_ms: start_ms })
  expect(differences).toEqual([
    {
      ...{ app_id: '', hour: hourOf(start_ms), store: 'postbacks_raw_v1', expected: 3, found: 2 },
      examples: [expect.stringContaining(audit_key)],
    },
  ])
})

test('a postback whose gateway died before it was published is no difference once it was sent again', async () => {
  await writePostbacks(['{"a":1}'])
  // The object of the first try: the second has one of its own, and the row.
  const line = { ...postbackOf('{"a":1}'), received_at_ms: start_ms + 1 }
  const first_key = audit_key.replace('-g-0', '-f-0')
  await world.audit.putOnce(first_key, gzipSync(`${JSON.stringify({ ...line, v: undefined, audit_key: undefined })}\n`))
  expect(await reconciler.ask({ since_ms: start_ms })).toMatchObject({ differences: [] })
  await clickhouse.command('ALTER TABLE postbacks_raw_v1 DELETE WHERE 1 SETTINGS mutations_sync = 2')
  const { differences } = await reconciler.ask({ since_ms: start_ms })
  expect(differences).toMatchObject([{ store: 'postbacks_raw_v1', expected: 2, found: 0 }])
})

test('the job finds them within the hour in which they were received', async () => {
  const clicks = await writeClicks(2)
  await writePostbacks(['{"a":1}', '{"a":2}'])
  await clickhouse.command(
    `ALTER TABLE clicks_raw_v1 DELETE WHERE click_id = ${textLiteral(clicks[0]!.click_id)} SETTINGS mutations_sync = 2`,
  )
  await clickhouse.command(`ALTER TABLE postbacks_raw_v1 DELETE WHERE offset = 1 SETTINGS mutations_sync = 2`)
  world.clock.now_ms += 3_600_000
  await reconciler.run()
  expect(await reconciler.known()).toMatchObject([
    { app_id: '', store: 'postbacks_raw_v1', expected: 2, found: 1 },
    { app_id: tenants[0]!.app_id, store: 'clicks_raw_v1', expected: 1, found: 0 },
  ])
  expect(await reconciler.metric('tributary_reconcile_differences')).toEqual([
    { store: 'clicks_raw_v1', value: 1 },
    { store: 'postbacks_raw_v1', value: 1 },
  ])
})
