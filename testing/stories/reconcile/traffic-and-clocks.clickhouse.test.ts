import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { expect, test } from 'vitest'
import { dropped, held, openReconciler, reconcileStage, send, start_ms, withReads } from './reconcile-world.ts'

const stage = reconcileStage()

const event = () => ({
  ...{ event_id: randomUUID(), event_name: 'x', install_uuid: `i-${randomUUID()}` },
  event_ts_ms: stage.world.clock.now_ms,
})

/** Another reconciler, whose reads of objects are given. */
const another = (read: Parameters<typeof withReads>[1]) =>
  openReconciler({
    ...{ clickhouse: stage.clickhouse, pool: stage.own, asking: stage.postgres.pool },
    world: withReads(stage.world, read),
  })

test('events of one hour that pass from the audit store to the log during both looks are no difference', async () => {
  const { world, tenants, reconciler } = stage
  for (const act of [() => send(world, tenants[0], 1), () => world.single(tenants[0], event())]) {
    const release = await held(world, act)
    let second = async () => {}
    let looks = 0
    reconciler.hooks.between = async () => {
      looks += 1
      await release()
      second = await held(world, act)
    }
    const { differences } = await reconciler.ask({ since_ms: start_ms })
    expect([looks, differences]).toEqual([1, []])
    await second()
  }
})

test('the job takes none of them for a difference either, and finds later what stayed on its way', async () => {
  const { world, tenants, reconciler } = stage
  const release = await held(world, () => world.single(tenants[0], event()))
  world.clock.now_ms += 61_000
  let looks = 0
  let second = async () => {}
  reconciler.hooks.between = async () => {
    looks += 1
    await release()
    world.clock.now_ms += 30_000
    second = await held(world, () => world.single(tenants[0], event()))
  }
  await reconciler.run()
  expect([looks, await reconciler.known()]).toEqual([1, []])
  reconciler.hooks.between = async () => {}
  world.clock.now_ms += hour_ms
  await reconciler.run()
  expect(await reconciler.known()).toMatchObject([{ store: 'events.accepted.v1', expected: 1, found: 0 }])
  await second()
})

test('a clock that was ahead or behind for one run ends nothing and skips nothing', async () => {
  const { world, tenants, reconciler } = stage
  await send(world, tenants[0], 1)
  await world.untilWritten()
  world.clock.now_ms += 365 * day_ms
  await reconciler.run()
  world.clock.now_ms -= 365 * day_ms
  await dropped(world, tenants[0])
  world.clock.now_ms += 3 * hour_ms
  await reconciler.run()
  const lost = { app_id: tenants[0].app_id, store: 'events.accepted.v1' }
  expect(await reconciler.known()).toMatchObject([lost])
  const [behind] = await reconciler.metric('tributary_reconcile_behind_seconds')
  expect(behind!.value).toBeGreaterThanOrEqual(0)
  world.clock.now_ms += 2 * hour_ms
  await dropped(world, tenants[0])
  world.clock.now_ms -= 4 * hour_ms
  await reconciler.run()
  world.clock.now_ms += 6 * hour_ms
  await reconciler.run()
  expect(await reconciler.known()).toMatchObject([lost, lost])
})

test('a difference that a clock ahead has looked at is compared again once the clock is right', async () => {
  const { world, tenants, reconciler } = stage
  await dropped(world, tenants[0])
  world.clock.now_ms += 2 * day_ms
  await reconciler.run()
  world.clock.now_ms -= 2 * day_ms - 2 * hour_ms
  expect(await world.replay({ source: 'audit' })).toMatchObject({ filled: 1 })
  await reconciler.run()
  expect(await reconciler.known()).toEqual([])
})

test('a job whose first run never ends is behind for as long as it tries', async () => {
  const { world, own: pool, postgres } = stage
  const clickhouse = { ...stage.clickhouse, query: () => Promise.reject(new Error('ClickHouse is away')) }
  const one = openReconciler({ world, clickhouse, pool, asking: postgres.pool })
  world.clock.now_ms += 5 * hour_ms
  await expect(one.run()).rejects.toThrow('ClickHouse is away')
  expect(await one.metric('tributary_reconcile_behind_seconds')).toEqual([{ value: 5 * 3600 }])
})

test('a job whose PostgreSQL has been away since its start is behind, too', async () => {
  const { world, clickhouse, postgres } = stage
  const pool = { query: () => Promise.reject(new Error('PostgreSQL is away')) } as unknown as typeof stage.own
  const one = openReconciler({ world, clickhouse, pool, asking: postgres.pool })
  world.clock.now_ms += 5 * hour_ms
  await expect(one.run()).rejects.toThrow('PostgreSQL is away')
  expect(await one.metric('tributary_reconcile_behind_seconds')).toEqual([{ value: 5 * 3600 }])
})

test('an object that the store refuses is a difference of its app, and keeps no other app from being compared', async () => {
  const { world, tenants, postgres } = stage
  for (const tenant of tenants) await dropped(world, tenant)
  world.clock.now_ms += 2 * hour_ms
  const lost = expect.objectContaining({ store: 'events.accepted.v1', app_id: expect.any(String) })
  for (const [at, { app_id }] of tenants.entries()) {
    await postgres.pool.query('TRUNCATE reconcile_differences, reconciled_hours')
    const one = another(({ key, read }) =>
      key?.includes(app_id) ? Promise.reject(new Error('InvalidObjectState')) : read(),
    )
    await one.run()
    const known = await one.known()
    expect(known).toContainEqual({ ...known.find((row) => row.app_id === app_id), store: 'audit' })
    expect(known.filter((row) => row.app_id === tenants[1 - at]!.app_id)).toEqual([lost])
    expect(JSON.stringify(one.said)).toContain('InvalidObjectState')
  }
})

test('an app that cannot be listed fails the run, and all others are compared', async () => {
  const { world, tenants, postgres, clickhouse, own } = stage
  for (const tenant of tenants) await dropped(world, tenant)
  world.clock.now_ms += 2 * hour_ms
  const { app_id } = tenants[0]
  const { list } = world.audit
  let isAway = true
  const one = openReconciler({
    ...{ clickhouse, pool: own, asking: postgres.pool },
    world: {
      ...world,
      audit: {
        ...world.audit,
        list: (folder) => {
          if (isAway && folder.startsWith(`${app_id}/s2s/2`)) throw new Error('refused')
          return list(folder)
        },
      },
    },
  })
  await expect(one.run()).rejects.toThrow('could not be compared')
  expect(await one.known()).toMatchObject([{ app_id: tenants[1].app_id }])
  expect(one.said.filter(({ msg }) => msg === 'not compared')).toMatchObject([{ app_id, err: { message: 'refused' } }])
  isAway = false
  world.clock.now_ms += 600_000
  await one.run()
  expect(await one.known()).toHaveLength(2)
})

test('a postback object that cannot be read has no request read again', async () => {
  const { world, tenants, reconciler } = stage
  await send(world, tenants[0], 1)
  await world.untilWritten()
  world.clock.now_ms += hour_ms
  await world.audit.putOnce('postbacks/skan/2026/06/01/1780305600000-g-0.jsonl.gz', gzipSync('x'))
  await reconciler.run()
  expect(await reconciler.known()).toMatchObject([{ app_id: '', store: 'audit' }])
  const read: string[] = []
  const one = another((object) => object.read().finally(() => read.push(object.key!)))
  await one.run()
  read.length = 0
  for (let n = 0; n < 3; n += 1) {
    world.clock.now_ms += 3 * hour_ms
    await one.run()
  }
  expect(new Set(read.map((key) => key.split('/')[0]))).toEqual(new Set(['postbacks']))
})

test('a second look reads only what the first one suspects', async () => {
  const { world, tenants, reconciler } = stage
  for (let n = 0; n < 3; n += 1) {
    await send(world, tenants[0], 1)
    await world.single(tenants[0], event())
    world.clock.now_ms += hour_ms
  }
  await world.untilWritten()
  await reconciler.run()
  await dropped(world, tenants[0])
  world.clock.now_ms += hour_ms
  const read: string[] = []
  const one = another((object) => object.read().finally(() => read.push(object.key!)))
  await one.run()
  expect(await one.known()).toHaveLength(1)
  // The backend's objects were compared by another process, whose memory this one has not.
  expect(read.filter((key) => key.startsWith('audit/'))).toHaveLength(2)
  expect(read.filter((key) => !key.startsWith('audit/'))).toHaveLength(3)
})
