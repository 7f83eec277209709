import { randomUUID } from 'node:crypto'
import { textLiteral } from '@tributary/clickhouse/literals'
import { day_ms, hour_ms, limits } from '@tributary/contracts/limits'
import { type EventRow, eventRowColumns } from '@tributary/contracts/rows'
import { addDifferences } from '@tributary/reconciler/stored-differences'
import { expect, test } from 'vitest'
import { loseEvents } from '../replay/replay-world.ts'
import { dropped, objectsBelow, reconcileStage, send, start_ms } from './reconcile-world.ts'

const stage = reconcileStage()

/** Three events of the first tenant, whose hour the job has compared. */
async function sendCompared() {
  await send(stage.world, stage.tenants[0], 3)
  await stage.world.untilWritten()
  stage.world.clock.now_ms += hour_ms
  await stage.reconciler.run()
  expect(await stage.reconciler.known()).toEqual([])
}

async function runHours(count: number) {
  for (let n = 0; n < count; n += 1) {
    stage.world.clock.now_ms += hour_ms
    await stage.reconciler.run()
  }
}

const columns = eventRowColumns.map((column) =>
  ['event_key', 'transaction_key', 'revenue_micros'].includes(column) ? `toString(${column}) AS ${column}` : column,
)

/** An event once more in every table, as a writer leaves it that did not know it. */
async function doubleEverywhere(received_at_ms: number) {
  const rows = await stage.clickhouse.query<EventRow>(`SELECT ${columns} FROM events_raw_v1 LIMIT 1`)
  await stage.clickhouse.insertEvents([{ ...rows[0]!, offset: 999_999, received_at_ms } as EventRow], randomUUID())
}

async function removeObject(key: string) {
  for await (const one of stage.world.audit.list(key.slice(0, key.lastIndexOf('/') + 1)))
    if (one.kind === 'object' && one.key === key) await one.remove()
}

/** When differences were found first, and when they were looked at last. */
const times = async () =>
  (
    await stage.postgres.pool.query<{ found_ms: number; looked_ms: number }>(
      `SELECT found_at_ms::float8 AS found_ms, looked_at_ms::float8 AS looked_ms FROM reconcile_differences ORDER BY hour_ms`,
    )
  ).rows

test('the job finds that all tables lost the rows of days that were compared', async () => {
  await sendCompared()
  await stage.world.single(stage.tenants[0], {
    ...{ event_id: 'b', event_name: 'x', install_uuid: 'i', event_ts_ms: stage.world.clock.now_ms },
  })
  await stage.world.untilWritten()
  stage.world.clock.now_ms += 29 * hour_ms
  await runHours(1)
  // As a restore of ClickHouse from an older backup leaves it.
  await loseEvents(stage.clickhouse, () => false)
  await runHours(1)
  expect(await stage.reconciler.known()).toMatchObject([
    { store: 'events.accepted.v1', expected: 3, found: 0 },
    { store: 'events.accepted.v1', expected: 1, found: 0 },
  ])
})

test('the job finds that an object of an hour that was compared is gone', async () => {
  await sendCompared()
  const [key] = await objectsBelow(stage.world.audit, 'audit/')
  await removeObject(key!)
  await runHours(1)
  expect(await stage.reconciler.known()).toMatchObject([{ store: 'audit', expected: 1, found: 0 }])
})

test.each([
  ['in its hour', start_ms],
  ['in the next hour', start_ms + hour_ms],
  ['after midnight', Date.UTC(2026, 5, 2, 0, 30)],
])('an event that every table counts twice is found by all: it came again %s', async (_, at_ms) => {
  const { world, reconciler } = stage
  await sendCompared()
  await doubleEverywhere(at_ms)
  world.clock.now_ms = Math.max(world.clock.now_ms, at_ms) + 2 * hour_ms
  await reconciler.run()
  const doubled = { app_id: stage.tenants[0].app_id, store: 'events_raw_v1', expected: 1, found: 2 }
  expect(await reconciler.known()).toMatchObject([doubled])
  const { differences } = await reconciler.ask({ since_ms: start_ms })
  expect(differences).toMatchObject([doubled])
})

test('events that a table counts on another day of receipt are found', async () => {
  const { app_id } = stage.tenants[0]
  await sendCompared()
  const table = 'events_received_per_day_v1'
  await stage.clickhouse.command(
    `ALTER TABLE ${table} DELETE WHERE app_id = ${textLiteral(app_id)} SETTINGS mutations_sync = 2`,
  )
  await stage.clickhouse.command(
    `INSERT INTO ${table} (app_id, received_day, events) VALUES (${textLiteral(app_id)}, '2026-05-31', 3)`,
  )
  const { differences } = await stage.reconciler.ask({ since_ms: start_ms - day_ms })
  expect(differences).toMatchObject([
    { hour: '2026-05-31T00:00:00Z', store: table, expected: 0, found: 3 },
    { hour: '2026-06-01T00:00:00Z', store: table, expected: 3, found: 0 },
  ])
})

test('sums of two names that are off in both directions do not make up for each other', async () => {
  const { app_id } = stage.tenants[0]
  await sendCompared()
  const ofApp = `app_id = ${textLiteral(app_id)} AND event_name = 'level_up'`
  await stage.clickhouse.command(
    `INSERT INTO events_per_day_v1 (app_id, day, event_name, currency, events, revenue_micros)
     VALUES (${textLiteral(app_id)}, '2026-06-01', 'other', '', 3, 5)`,
  )
  await stage.clickhouse.command(`ALTER TABLE events_per_day_v1 DELETE WHERE ${ofApp} SETTINGS mutations_sync = 2`)
  const { differences } = await stage.reconciler.ask({ since_ms: start_ms })
  const store = 'events_per_day_v1'
  expect(differences.map(({ expected: _, ...one }) => one)).toMatchObject([{ store }, { store }])
  const examples = differences.flatMap((one) => one.examples)
  expect(examples.some((one) => one.includes(', events:'))).toBe(true)
  expect(examples.some((one) => one.includes(', revenue_micros:'))).toBe(true)
})

test('an object that is corrupt and one that is gone are both named, and so are they when the job finds one later', async () => {
  const { world, reconciler, tenants, own } = stage
  for (let n = 0; n < 3; n += 1) await send(world, tenants[0], 3)
  await world.untilWritten()
  const [corrupt, gone] = (await objectsBelow(world.audit, 'audit/')) as [string, string]
  const content = (await world.audit.get(corrupt))!
  await world.audit.replace(corrupt, content, content.subarray(0, content.length - 12))
  await removeObject(gone)
  const { differences } = await reconciler.ask({ since_ms: start_ms })
  const both = expect.arrayContaining([expect.stringContaining(corrupt), expect.stringContaining(gone)])
  expect(differences).toMatchObject([{ store: 'audit', examples: both, expected: 3, found: 1 }])
  const [one] = differences
  const hour_start_ms = Date.parse(one!.hour)
  const again = { app_id: one!.app_id, hour_ms: hour_start_ms, store: 'audit', expected: 1, found: 0, examples: ['x'] }
  await addDifferences(own, [again], world.clock.now_ms)
  const { rows } = await stage.postgres.pool.query('SELECT examples, looked_at_ms FROM reconcile_differences')
  expect(rows).toMatchObject([{ examples: expect.arrayContaining([...one!.examples, 'x']), looked_at_ms: '0' }])
})

test('since when a difference is known stays, and it is compared again after twice the time, at least daily', async () => {
  await dropped(stage.world, stage.tenants[0])
  stage.world.clock.now_ms += 2 * hour_ms
  await stage.reconciler.run()
  const [first] = await times()
  const looks = new Set<number>()
  for (let n = 0; n < 30; n += 1) {
    stage.world.clock.now_ms += 2 * hour_ms
    await stage.reconciler.run()
    const [now] = await times()
    expect(now!.found_ms).toBe(first!.found_ms)
    looks.add((now!.looked_ms - first!.found_ms) / hour_ms)
  }
  expect([...looks].map(Math.round)).toEqual([2, 4, 8, 16, 32, 56])
})

test('what another look has added since a comparison began is left', async () => {
  const { world, reconciler, tenants, own } = stage
  await dropped(world, tenants[0])
  const added = { app_id: tenants[1].app_id, hour_ms: start_ms - (start_ms % hour_ms), store: 'audit' }
  reconciler.hooks.between = async () => {
    world.clock.now_ms += 1000
    await addDifferences(own, [{ ...added, expected: 1, found: 0, examples: [] }], world.clock.now_ms)
  }
  await reconciler.ask({ since_ms: start_ms })
  expect((await reconciler.known()).map(({ store }) => store).toSorted()).toEqual(['audit', 'events.accepted.v1'])
  reconciler.hooks.between = async () => {}
  world.clock.now_ms += 1000
  await reconciler.ask({ since_ms: start_ms })
  expect((await reconciler.known()).map(({ store }) => store)).toEqual(['events.accepted.v1'])
})

test('as many differences are kept as the limit says', async () => {
  const many = Array.from({ length: limits.reconcile_differences_max + 5 }, (_, n) => ({
    ...{
      app_id: 'app_many',
      hour_ms: n * hour_ms,
      store: 'audit',
      expected: 1,
      found: 0,
      examples: ["an object's name"],
    },
  }))
  await addDifferences(stage.own, many, start_ms)
  await addDifferences(stage.own, many.slice(-5), start_ms)
  expect(await stage.reconciler.known()).toHaveLength(limits.reconcile_differences_max)
})

test('--repair fills what was received after midnight in a group that began before it', async () => {
  const { world, reconciler, tenants } = stage
  const midnight_ms = Date.UTC(2026, 5, 2)
  world.clock.now_ms = midnight_ms + 1000
  await dropped(world, tenants[0])
  const [key] = (await objectsBelow(world.audit, 'audit/')) as [string]
  const before = key.replace('2026/06/02', '2026/06/01').replace(/\/\d+-/, `/${midnight_ms - 100}-`)
  await world.audit.putOnce(before, (await world.audit.get(key))!)
  await removeObject(key)
  const { differences } = await reconciler.ask({ since_ms: midnight_ms })
  expect(differences).toMatchObject([{ store: 'events.accepted.v1', expected: 1, found: 0 }])
  const since_ms = Date.parse(differences[0]!.hour)
  expect(await world.replay({ source: 'audit', since_ms, app_id: tenants[0].app_id })).toMatchObject({ filled: 1 })
})

test('what is stored and logged names no install', async () => {
  const { world, reconciler, tenants, clickhouse, postgres } = stage
  const install_uuid = `i-${randomUUID()}`
  await send(world, tenants[0], 1, { install_uuid, revenue: 2, currency: 'USD' })
  await world.untilWritten()
  await clickhouse.command(`ALTER TABLE events_raw_v1 DELETE WHERE 1 SETTINGS mutations_sync = 2`)
  await world.untilWritten()
  world.log.before = async () => {
    throw new Error('dropped')
  }
  await send(world, tenants[0], 1, { install_uuid }).catch(() => {})
  world.log.before = async () => {}
  world.clock.now_ms += 2 * hour_ms
  await reconciler.run()
  const { rows } = await postgres.pool.query('SELECT * FROM reconcile_differences ORDER BY store')
  expect(rows.map(({ store }) => store)).toEqual(['events.accepted.v1', 'events_raw_v1'])
  expect(JSON.stringify([rows, reconciler.said])).not.toContain(install_uuid)
})
