import { gunzipSync } from 'node:zlib'
import { textLiteral } from '@tributary/clickhouse/literals'
import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { runErasures } from '@tributary/eraser/run-erasures'
import { queueErasures } from '@tributary/erasure/queue-erasures'
import { requestRun } from '@tributary/erasure/runs'
import { noteLog } from '@tributary/erasure/unread-events'
import { runRetention } from '@tributary/retention/run-retention'
import { createSettler } from '@tributary/tables/settled/settler'
import { changeCompany } from '@tributary/tenancy/companies/tenants'
import type { TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import type { TestPostgres } from '@tributary/testing/engines/test-postgres'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { memoryRedecisions } from '@tributary/testing/twins/memory-redecisions'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import { loseEvents, type Tenant, type World } from '../replay/replay-world.ts'
import {
  dropped,
  hourOf,
  masterKeys,
  objectsBelow,
  openReconciler,
  type Reconciler,
  reconcileStage,
  send,
  start_ms,
} from './reconcile-world.ts'

const logger = pino({ level: 'silent' })
let clickhouse: TestClickhouse
let postgres: TestPostgres
let own: Pool
let world: World
let reconciler: Reconciler
let tenants: [Tenant, Tenant]
const stage = reconcileStage()
beforeEach(() => {
  ;({ clickhouse, postgres, own, world, reconciler, tenants } = stage)
})

/** Neither who asks nor the job finds anything, on which day ever. */
async function expectNone(since_ms = start_ms) {
  const { differences, state } = await reconciler.ask({ since_ms })
  expect([state, differences]).toEqual(['done', []])
  await reconciler.run()
  expect(await reconciler.known()).toEqual([])
}

const settle = () => createSettler({ clickhouse, logger })({ quiet_ms: 0 })

describe('no difference is invented', () => {
  test('by a batch that comes again in another hour', async () => {
    const body = JSON.stringify({
      events: [{ event_id: 'e', event_name: 'x', install_uuid: 'i', event_ts_ms: start_ms }],
    })
    await world.sdk(tenants[0], body)
    world.clock.now_ms += 2 * hour_ms
    await world.sdk(tenants[0], body)
    await world.untilWritten()
    world.clock.now_ms += 2 * hour_ms
    await expectNone()
  })

  test('by an erasure whose objects still hold the events, before and after days are settled again', async () => {
    const [{ app_id }] = tenants
    for (const install_uuid of ['gone', 'kept'])
      await send(world, tenants[0], 3, { install_uuid, revenue: 2, currency: 'USD', transaction_id: install_uuid })
    await world.untilWritten()
    await settle()
    world.clock.now_ms += hour_ms
    const now = () => world.clock.now_ms
    const { pool } = postgres
    await queueErasures({ pool, masterKeys }, [
      { app_id, install_uuid: 'gone', requested_at_ms: now() - 1, asked_by: 'sdk' },
    ])
    const nothing = async () => new Map()
    await runErasures(
      {
        ...{
          pool,
          masterKeys,
          clickhouse,
          redecisions: memoryRedecisions(),
          keyValue: memoryKeyValue(now),
          now,
          logger,
        },
        ...{ noteLog: () => noteLog(world.broker), findOlderWork: async () => [], pause: async () => {} },
        audit: { findAudited: nothing, rewriteApp: nothing, rewriteArchives: nothing, rewriteNoted: async () => {} },
      },
      await requestRun(pool, now()),
      new AbortController().signal,
    )
    const left = await clickhouse.query(`SELECT DISTINCT install_uuid FROM events_raw_v1`)
    expect(left).toEqual([{ install_uuid: 'kept' }])
    await expectNone()
    await settle()
    await expectNone()
  })

  test('by erasures that begin while their tables are compared, at both looks', async () => {
    const [{ app_id }] = tenants
    await send(world, tenants[0], 3)
    await world.untilWritten()
    const lacking = 'ALTER TABLE activity_by_day_v1 DELETE WHERE 1 SETTINGS mutations_sync = 2'
    let batches = 0
    const insertBatch = (batch: number, done: 0 | 1) =>
      clickhouse.command(
        `INSERT INTO erased_events_v1 (app_id, day, event_name, batch, received_day, events, done)
         SELECT app_id, day, event_name, toUUID('00000000-0000-0000-0000-00000000000${batch}'), day, 0, ${done}
         FROM events_raw_v1 WHERE app_id = ${textLiteral(app_id)} LIMIT 1`,
      )
    /** A batch begins whenever it has been asked which are at work, and ends before this is asked again. */
    const erased = {
      ...clickhouse,
      async query<Row>(sql: string, params?: Record<string, unknown>) {
        const isAsked = sql.includes('FROM erased_events_v1 FINAL WHERE app_id') && sql.includes('done = 0')
        if (isAsked && batches > 0) await insertBatch(batches, 1)
        const rows = await clickhouse.query<Row>(sql, params)
        if (!isAsked) return rows
        batches += 1
        await insertBatch(batches, 0)
        await clickhouse.command(lacking)
        return rows
      },
    }
    const { differences, state } = await openReconciler({
      world,
      clickhouse: erased,
      pool: own,
      asking: postgres.pool,
    }).ask()
    expect([state, differences]).toEqual(['done', []])
    expect(batches).toBeGreaterThan(1)
    expect((await reconciler.ask()).differences).toEqual([])
  })

  test('by retention', async () => {
    await send(world, tenants[0], 3)
    await send(world, tenants[0], 1, { event_ts_ms: start_ms + 0.9 * day_ms })
    world.clock.now_ms += 20 * day_ms
    await send(world, tenants[0], 3)
    await world.untilWritten()
    const { rows } = await postgres.pool.query('SELECT company_id FROM apps WHERE app_id = $1', [tenants[0].app_id])
    const request = { actor: 'test', request_id: 'r', now_ms: 0 }
    await changeCompany(postgres.pool, rows[0].company_id, { keep_raw_days: 20 }, request)
    const { audit, broker } = world
    world.clock.now_ms += day_ms
    await runRetention(
      {
        ...{ pool: postgres.pool, clickhouse, broker, audit, now: () => world.clock.now_ms, wait_ms: 1000, logger },
        pause: async () => {},
      },
      new AbortController().signal,
    )
    const [{ left } = { left: 0 }] = await clickhouse.query<{ left: number }>(
      'SELECT count() AS left FROM events_raw_v1',
    )
    expect(left).toBeLessThan(7)
    await expectNone()
  })

  test('by a replay', async () => {
    await send(world, tenants[0], 3)
    await world.untilWritten()
    await loseEvents(clickhouse, () => false)
    expect(await world.replay({ source: 'audit' })).toMatchObject({ state: 'done', filled: 3 })
    world.clock.now_ms += 2 * hour_ms
    await expectNone()
  })

  test.each([
    ['ahead', day_ms],
    ['behind', -day_ms],
  ])('by a gateway whose clock is a day %s', async (_, off_ms) => {
    await send(world, tenants[0], 2)
    world.clock.now_ms += 2 * hour_ms
    await reconciler.run()
    world.clock.now_ms += off_ms
    await send(world, tenants[0], 2, { event_ts_ms: undefined })
    world.clock.now_ms -= off_ms
    await world.untilWritten()
    await expectNone()
    world.clock.now_ms += day_ms + 2 * hour_ms
    await expectNone()
  })

  test('by an event that lies among the dead letters', async () => {
    await dropped(world, tenants[0])
    const [key] = await objectsBelow(world.audit, 'audit/')
    const line = JSON.parse(gunzipSync((await world.audit.get(key!))!).toString())
    const { received_at_ms, ip, body } = line
    const [{ install_uuid, ...event }] = body.events
    const { rows } = await postgres.pool.query('SELECT company_id FROM apps WHERE app_id = $1', [tenants[0].app_id])
    const facts = {
      v: 1,
      company_id: rows[0].company_id,
      app_id: tenants[0].app_id,
      platform: 'android',
      source: 'sdk',
    }
    const envelope = { ...facts, received_at_ms, ip, user_agent: '', sdk: '', sdk_platform: '', install_uuid }
    await world.broker.publish([
      {
        ...{ topic: deadLetterTopic(topics.eventsAccepted).name, partition: 0, key: null },
        value: Buffer.from(JSON.stringify({ ...envelope, audit_key: key, events: [event] })),
        headers: { reason: 'row_refused', source_offset: '1', first_seen_ms: '5', attempts: '1' },
      },
    ])
    await expectNone()
  })

  test('by an event without an id of a client that was answered 503', async () => {
    world.log.before = async () => {
      throw new Error('away')
    }
    const event = { event_name: 'x', install_uuid: 'i', event_ts_ms: start_ms }
    expect(await world.single(tenants[0], event)).toMatchObject({ status: 503 })
    world.log.before = async () => {}
    expect(await world.single(tenants[0], event)).toMatchObject({ status: 200 })
    await world.untilWritten()
    await expectNone()
  })
})

test('the hour that is open is left to the next run of the job', async () => {
  await dropped(world, tenants[0])
  await reconciler.run()
  expect(await reconciler.known()).toEqual([])
  world.clock.now_ms += hour_ms
  await reconciler.run()
  expect(await reconciler.known()).toMatchObject([{ store: 'events.accepted.v1', expected: 1, found: 0 }])
})

test('each hour is compared once, and again when an object comes late under it', async () => {
  await send(world, tenants[0], 2)
  await world.untilWritten()
  world.clock.now_ms += hour_ms
  await reconciler.run()
  const read: string[] = []
  const { list } = world.audit
  const another = openReconciler({
    ...{ clickhouse, pool: own, asking: postgres.pool },
    world: {
      ...world,
      audit: {
        ...world.audit,
        async *list(folder) {
          for await (const one of list(folder))
            yield one.kind !== 'object' ? one : { ...one, read: () => one.read().finally(() => read.push(one.key!)) }
        },
      },
    },
  })
  world.clock.now_ms += hour_ms
  await another.run()
  expect(read).toEqual([])
  world.clock.now_ms -= 2 * hour_ms
  await send(world, tenants[0], 1)
  await world.untilWritten()
  world.clock.now_ms += 4 * hour_ms
  await another.run()
  expect(read).toHaveLength(2)
  expect(await another.known()).toEqual([])
})

test('a run that was stopped goes on where it was, and finds what the whole would', async () => {
  for (const tenant of tenants) await send(world, tenant, 2)
  await world.untilWritten()
  const lost = tenants
    .map(({ app_id }) => app_id)
    .toSorted()
    .at(-1)!
  for (const table of ['events_raw_v1', 'event_keys_v1', 'events_per_day_v1', 'events_received_per_day_v1'])
    await clickhouse.command(
      `ALTER TABLE ${table} DELETE WHERE app_id = ${textLiteral(lost)} SETTINGS mutations_sync = 2`,
    )
  world.clock.now_ms += hour_ms
  const stop = new AbortController()
  reconciler.hooks.between = async () => {
    stop.abort(new Error('stopped'))
    stop.signal.throwIfAborted()
  }
  await expect(reconciler.run(stop.signal)).rejects.toThrow('stopped')
  expect(await reconciler.known()).toEqual([])
  reconciler.hooks.between = async () => {}
  await reconciler.another()(new AbortController().signal)
  expect(await reconciler.known()).toContainEqual(
    expect.objectContaining({ app_id: lost, store: 'events.accepted.v1', expected: 2, found: 0 }),
  )
})

test('a difference is a metric and a line until a later look finds it no more', async () => {
  const ids = await send(world, tenants[0], 2)
  await world.untilWritten()
  await dropped(world, tenants[0])
  world.clock.now_ms += hour_ms
  await reconciler.run()
  const where = { app_id: tenants[0].app_id, hour: hourOf(start_ms), store: 'events.accepted.v1' }
  expect(reconciler.said.filter(({ msg }) => msg === 'stores differ')).toMatchObject([
    { ...where, expected: ids.length + 1, found: ids.length, examples: [expect.stringContaining('event ')] },
  ])
  const gauge = 'tributary_reconcile_differences'
  expect(await reconciler.metric(gauge)).toEqual([{ store: 'events.accepted.v1', value: 1 }])
  expect(await reconciler.metric('tributary_reconcile_behind_seconds')).toEqual([{ value: expect.any(Number) }])
  expect(await world.replay({ source: 'audit' })).toMatchObject({ filled: 1 })
  world.clock.now_ms += 3 * hour_ms
  await reconciler.run()
  expect([await reconciler.known(), await reconciler.metric(gauge)]).toEqual([[], []])
})
