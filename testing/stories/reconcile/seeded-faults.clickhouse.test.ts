import { gunzipSync, gzipSync } from 'node:zlib'
import { textLiteral } from '@tributary/clickhouse/literals'
import { hour_ms } from '@tributary/contracts/limits'
import { createSettler } from '@tributary/tables/settled/settler'
import type { TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import type { TestPostgres } from '@tributary/testing/engines/test-postgres'
import { pino } from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Tenant, World } from '../replay/replay-world.ts'
import { hourOf, objectsBelow, type Reconciler, reconcileStage, send, start_ms } from './reconcile-world.ts'

let clickhouse: TestClickhouse
let postgres: TestPostgres
let world: World
let reconciler: Reconciler
let tenant: Tenant
const stage = reconcileStage()
beforeEach(() => {
  ;({ clickhouse, postgres, world, reconciler } = stage)
  tenant = stage.tenants[0]
})

/** Three requests of three events each in two hours, written. */
async function sendSome(): Promise<string[]> {
  const ids = [...(await send(world, tenant, 3)), ...(await send(world, tenant, 3))]
  world.clock.now_ms += hour_ms
  ids.push(...(await send(world, tenant, 3)))
  await world.untilWritten()
  return ids
}

const deleteRaw = (event_id: string) =>
  clickhouse.command(
    `ALTER TABLE events_raw_v1 DELETE WHERE event_id = ${textLiteral(event_id)} SETTINGS mutations_sync = 2`,
  )

/** Both looks at it: somebody asks, and the job passes by the next morning. */
async function findings() {
  const { differences, hours } = await reconciler.ask({ since_ms: start_ms })
  await postgres.pool.query('TRUNCATE reconcile_differences')
  // Figures of a day are settled when it is over.
  world.clock.now_ms += 22 * hour_ms
  await reconciler.run()
  const byJob = (await reconciler.known()).map(({ hour_ms: at_ms, ...one }) => ({ ...one, hour: hourOf(at_ms) }))
  expect(byJob).toEqual(differences.map(({ examples: _, ...one }) => one))
  return { differences, hours }
}

test('stores that agree have no difference', async () => {
  await sendSome()
  expect(await findings()).toEqual({ differences: [], hours: 2 })
  expect(await reconciler.metric('tributary_reconcile_differences')).toEqual([])
})

test('a range of the future has nothing to compare', async () => {
  await sendSome()
  const answer = await reconciler.ask({ since_ms: start_ms + 400 * 24 * hour_ms })
  expect(answer).toMatchObject({ state: 'done', hours: 0, differences: [] })
})

test('what somebody who asks has found or repaired shows at once, while the job is at work for long', async () => {
  const gauge = 'tributary_reconcile_differences'
  const ids = await sendSome()
  await deleteRaw(ids[4]!)
  await reconciler.ask({ since_ms: start_ms })
  expect(await reconciler.metric(gauge)).toEqual([{ store: 'events_raw_v1', value: 1 }])
  await postgres.pool.query('TRUNCATE reconcile_differences')
  await reconciler.ask({ since_ms: start_ms, app_id: stage.tenants[1].app_id })
  expect(await reconciler.metric(gauge)).toEqual([])
})

describe('a seeded fault is found, and named with its store and hour:', () => {
  test('a raw row that was deleted', async () => {
    const ids = await sendSome()
    await deleteRaw(ids[4]!)
    const { differences } = await findings()
    expect(differences).toEqual([
      {
        ...{ app_id: tenant.app_id, hour: hourOf(start_ms), store: 'events_raw_v1', expected: 6, found: 5 },
        examples: [expect.stringContaining(`event ${ids[4]}`)],
      },
    ])
  })

  test('a raw row that was deleted, of an event whose request came again', async () => {
    const event = { event_id: 'again', event_name: 'x', install_uuid: 'i', event_ts_ms: start_ms }
    const body = JSON.stringify({ events: [event] })
    for (let n = 0; n < 2; n += 1) await world.sdk(tenant, body)
    await world.untilWritten()
    await deleteRaw('again')
    const { differences } = await findings()
    expect(differences).toEqual([
      {
        ...{ app_id: tenant.app_id, hour: hourOf(start_ms), store: 'events_raw_v1', expected: 2, found: 1 },
        examples: [expect.stringContaining('event again')],
      },
    ])
  })

  describe('of an event without a time that came on both sides of midnight:', () => {
    const before_midnight_ms = Date.UTC(2026, 5, 1, 23, 59, 59, 900)
    async function sendTwice() {
      const body = JSON.stringify({ events: [{ event_id: 'again', event_name: 'x', install_uuid: 'i' }] })
      world.clock.now_ms = before_midnight_ms
      await world.sdk(tenant, body)
      world.clock.now_ms += 200
      await world.sdk(tenant, body)
    }

    test('its raw row was deleted', async () => {
      await sendTwice()
      await world.untilWritten()
      await deleteRaw('again')
      const { differences } = await findings()
      expect(differences).toMatchObject([{ hour: hourOf(before_midnight_ms), store: 'events_raw_v1' }])
    })

    test('the log lacks it', async () => {
      world.log.before = async () => {
        throw new Error('dropped')
      }
      await sendTwice()
      world.log.before = async () => {}
      const { differences } = await findings()
      expect(differences).toMatchObject([
        { hour: hourOf(before_midnight_ms), store: 'events.accepted.v1', expected: 1, found: 0 },
      ])
    })
  })

  test('a raw row that is there twice', async () => {
    const ids = await sendSome()
    await clickhouse.command(
      `INSERT INTO events_raw_v1 SELECT * FROM events_raw_v1 WHERE event_id = ${textLiteral(ids[8]!)} SETTINGS insert_deduplicate = 0`,
    )
    const { differences } = await findings()
    expect(differences).toEqual([
      {
        ...{ app_id: tenant.app_id, hour: hourOf(start_ms + hour_ms), store: 'events_raw_v1', expected: 1, found: 2 },
        examples: [expect.stringContaining(`event ${ids[8]} has 2 rows`)],
      },
    ])
  })

  describe('of today, while events keep coming:', () => {
    beforeEach(() => {
      reconciler.hooks.amid = async () => {
        await send(world, tenant, 1)
        await world.untilWritten()
      }
    })

    test('a raw row that was deleted', async () => {
      const ids = await sendSome()
      await deleteRaw(ids[4]!)
      const { differences } = await reconciler.ask({ since_ms: start_ms })
      expect(differences).toMatchObject([{ store: 'events_raw_v1', examples: [expect.stringContaining(ids[4]!)] }])
    })

    test('a sum that counts one too many', async () => {
      await sendSome()
      await clickhouse.command(
        `INSERT INTO events_per_day_v1 (app_id, day, event_name, events)
         SELECT app_id, day, event_name, 1 FROM events_raw_v1 LIMIT 1`,
      )
      const { differences } = await reconciler.ask({ since_ms: start_ms })
      expect(differences).toMatchObject([{ store: 'events_per_day_v1' }])
      expect(differences[0]!.found - differences[0]!.expected).toBe(1)
    })

    test('a sum that counts one too many, though an insert is under way in some of the looks', async () => {
      await sendSome()
      const count = (events: number) =>
        clickhouse.command(
          `INSERT INTO events_per_day_v1 (app_id, day, event_name, events)
           SELECT app_id, day, event_name, ${events} FROM events_raw_v1 LIMIT 1 SETTINGS insert_deduplicate = 0`,
        )
      await count(1)
      let looks = 0
      reconciler.hooks.amid = async () => {
        looks += 1
        if (looks % 4 === 2) await count(-5)
        if (looks % 4 === 3) await count(5)
      }
      const { differences } = await reconciler.ask({ since_ms: start_ms })
      expect(differences).toMatchObject([{ store: 'events_per_day_v1' }])
      expect(differences[0]!.found - differences[0]!.expected).toBe(1)
    })

    test('but not what a sum lacks, which may be an insert under way at each look', async () => {
      await sendSome()
      await clickhouse.command('ALTER TABLE events_per_day_v1 DELETE WHERE 1 SETTINGS mutations_sync = 1')
      expect((await reconciler.ask({ since_ms: start_ms })).differences).toEqual([])
      reconciler.hooks.amid = async () => {}
      expect((await reconciler.ask({ since_ms: start_ms })).differences).toMatchObject([{ store: 'events_per_day_v1' }])
    })
  })

  test('a record that the log dropped', async () => {
    await sendSome()
    const publish = world.log.before
    world.log.before = async () => {
      throw new Error('dropped')
    }
    await expect(send(world, tenant, 2)).rejects.toThrow('answered 503')
    world.log.before = publish
    const { differences } = await findings()
    expect(differences).toMatchObject([
      { app_id: tenant.app_id, hour: hourOf(start_ms + hour_ms), store: 'events.accepted.v1', expected: 5, found: 3 },
    ])
  })

  test('an event that is missing among requests of one object, one of which has no event', async () => {
    const ids = await sendSome()
    const [key] = await objectsBelow(world.audit, 'audit/')
    const content = (await world.audit.get(key!))!
    const { body, ...head } = JSON.parse(gunzipSync(content).toString())
    const lost = { ...body.events[0], event_id: 'lost' }
    const requests = [body.events.slice(0, 2), [], [body.events[2], lost]]
    const lines = requests.map((events) => `${JSON.stringify({ ...head, body: { ...body, events } })}\n`)
    await world.audit.replace(key!, content, gzipSync(lines.join('')))
    const { differences } = await findings()
    expect(differences).toMatchObject([
      {
        store: 'events.accepted.v1',
        expected: ids.length - 2,
        found: ids.length - 3,
        examples: [expect.stringContaining('event lost')],
      },
    ])
  })

  test('an audit object that is corrupt', async () => {
    await sendSome()
    const [key] = await objectsBelow(world.audit, 'audit/')
    const content = (await world.audit.get(key!))!
    await world.audit.replace(key!, content, content.subarray(0, content.length - 12))
    const { differences } = await findings()
    expect(differences).toEqual([
      {
        ...{ app_id: tenant.app_id, hour: hourOf(start_ms), store: 'audit', expected: 2, found: 1 },
        examples: [`${key} can't be read`],
      },
    ])
  })

  test('an audit object that lost an event, and can be read', async () => {
    await sendSome()
    const [key] = await objectsBelow(world.audit, 'audit/')
    const content = (await world.audit.get(key!))!
    const { body, ...head } = JSON.parse(gunzipSync(content).toString())
    const rest = { ...head, body: { ...body, events: body.events.slice(1) } }
    await world.audit.replace(key!, content, gzipSync(`${JSON.stringify(rest)}\n`))
    const { differences } = await findings()
    expect(differences).toMatchObject([
      { store: 'audit', expected: 2, found: 1, examples: [`${key} holds 2 events, and rows name it for 3`] },
    ])
  })

  test('an audit object that is gone', async () => {
    await sendSome()
    const [key] = await objectsBelow(world.audit, 'audit/')
    for await (const one of world.audit.list(key!.slice(0, key!.lastIndexOf('/') + 1)))
      if (one.kind === 'object' && one.key === key) await one.remove()
    const { differences } = await findings()
    expect(differences).toEqual([
      {
        ...{ app_id: tenant.app_id, hour: hourOf(start_ms), store: 'audit', expected: 2, found: 1 },
        examples: [`${key} is not there, and 3 rows name it`],
      },
    ])
  })

  test('a roll-up that is off by one', async () => {
    await sendSome()
    await clickhouse.command(
      `INSERT INTO events_per_day_v1 (app_id, day, event_name, currency, events, revenue_micros)
       VALUES (${textLiteral(tenant.app_id)}, '2026-06-01', 'level_up', '', 1, 0)`,
    )
    const { differences } = await findings()
    expect(differences).toMatchObject([
      { app_id: tenant.app_id, hour: '2026-06-01T00:00:00Z', store: 'events_per_day_v1', expected: 9, found: 10 },
    ])
  })

  test('a settled figure that is off by one', async () => {
    await sendSome()
    world.clock.now_ms += hour_ms
    const settle = createSettler({ clickhouse, logger: pino({ level: 'silent' }) })
    await settle({ quiet_ms: 0 })
    await clickhouse.command(
      `INSERT INTO settled_uniques_v1 SELECT * REPLACE (arrayMap(n -> n + 1, \`uniques.installs\`) AS \`uniques.installs\`)
       FROM settled_uniques_v1 FINAL WHERE app_id = ${textLiteral(tenant.app_id)}`,
    )
    const { differences } = await findings()
    expect(differences).toEqual([
      {
        ...{ app_id: tenant.app_id, hour: '2026-06-01T00:00:00Z', store: 'settled_uniques_v1', expected: 1, found: 0 },
        examples: ['day 2026-06-01, uniques: other rows than its data gives'],
      },
    ])
  })
})
