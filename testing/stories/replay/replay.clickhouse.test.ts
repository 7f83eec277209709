import { randomUUID } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { isExact, verifyEvents } from '@tributary/testing/verify-events'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { requests, sendAll, start_ms } from './replay-requests.ts'
import { loseEvents, openWorld, patience, type Tenant, tablesOf, type World } from './replay-world.ts'

let clickhouse: TestClickhouse
let postgres: TestPostgres
let world: World
let tenants: [Tenant, Tenant]
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
})
afterAll(() => Promise.all([clickhouse.close(), postgres.close()]))
beforeEach(async () => {
  await loseEvents(clickhouse, () => false)
  world = await openWorld({ clickhouse, pool: postgres.pool })
  tenants = [await world.newTenant(), await world.newTenant()]
})
afterEach(() => world.close())

const sources = ['log', 'audit'] as const

const done = { state: 'done' }

describe.each(sources)('a replay from the %s', (source) => {
  test('that is killed half-way and repeated counts nothing twice', async () => {
    await sendAll(world, tenants, fc.sample(requests, 1)[0]!)
    const before = await tablesOf(clickhouse)
    await loseEvents(clickhouse, () => false)
    const stop = new AbortController()
    let published = 0
    const stopped = Promise.withResolvers<void>()
    world.log.before = async () => {
      published += 1
      if (published !== 1) return
      stop.abort()
      await stopped.promise
    }
    await expect(world.replay({ source }, stop.signal)).rejects.toThrow()
    stopped.resolve()
    // The one that was stopped is over as soon as another is let in.
    const end = await vi.waitFor(async () => {
      const again = await world.replay({ source })
      expect(again).toMatchObject(done)
      return again
    }, patience)
    expect(published).toBeGreaterThan(1)
    await world.untilWritten()
    expect([await tablesOf(clickhouse), end]).toEqual([before, expect.objectContaining(done)])
  })

  test('touches no other app than the one it is asked for', async () => {
    await sendAll(world, tenants, fc.sample(requests, 1)[0]!)
    const [mine, other] = tenants
    const before = await tablesOf(clickhouse)
    await loseEvents(clickhouse, () => false)
    expect(await world.replay({ source, app_id: mine.app_id })).toMatchObject(done)
    await world.untilWritten()
    const ofMine = (tables: Record<string, string[]>) =>
      Object.values(tables).map((rows) => rows.filter((row) => row.includes(mine.app_id)))
    const after = await tablesOf(clickhouse)
    expect(ofMine(after)).toEqual(ofMine(before))
    expect(JSON.stringify(after)).not.toContain(other.app_id)
  })

  test('leaves money with the backend that took it over from a phone, whichever of the two was lost', async () => {
    const [tenant] = tenants
    const paid = { event_name: 'purchase', install_uuid: 'i', event_ts_ms: start_ms, transaction_id: 't' }
    await world.sdk(tenant, JSON.stringify({ events: [{ ...paid, event_id: 'phone', revenue: 0.01 }] }))
    await world.single(tenant, { ...paid, event_id: 'backend', revenue: 4.99 })
    await world.untilWritten()
    const before = await tablesOf(clickhouse)
    expect(before.revenue_raw_v1!.map((row) => JSON.parse(row).amount_micros)).toEqual([4_990_000])
    for (const kept of ['backend', 'phone']) {
      await loseEvents(clickhouse, ({ event_id }) => event_id === kept)
      expect(await world.replay({ source })).toMatchObject({ ...done, filled: 1 })
      await world.untilWritten()
      expect(await tablesOf(clickhouse)).toEqual(before)
    }
  })

  test('leaves out what came before --since', async () => {
    const [tenant] = tenants
    const wanted = (n: number) => ({ event_id: `${n}`, event_name: 'e', install_uuid: 'i', event_ts_ms: start_ms })
    const sent_ms: number[] = []
    for (let n = 0; n < 4; n += 1) {
      sent_ms.push(world.clock.now_ms)
      await world.sdk(tenant, JSON.stringify({ events: [wanted(n)] }))
      await world.single(tenant, { ...wanted(n), event_id: `s${n}` })
      world.clock.now_ms += 10 * 3600 * 1000
    }
    await world.untilWritten()
    await loseEvents(clickhouse, () => false)
    expect(await world.replay({ source, since_ms: sent_ms[2]! })).toMatchObject({ replayed: 4, filled: 4 })
    await world.untilWritten()
    const rows = await clickhouse.query<{ event_id: string }>('SELECT event_id FROM events_raw_v1 ORDER BY event_id')
    expect(rows.map(({ event_id }) => event_id)).toEqual(['2', '3', 's2', 's3'])
  })

  test('counts each event once beside live traffic that sends the lost ones again', async () => {
    const [tenant] = tenants
    const batch = (from: number) =>
      Array.from({ length: 20 }, (_, n) => ({
        ...{ event_id: `${from + n}`, event_name: 'e', event_ts_ms: start_ms },
        install_uuid: `i-${(from + n) % 5}`,
      }))
    for (let from = 0; from < 400; from += 20) await world.sdk(tenant, JSON.stringify({ events: batch(from) }))
    await world.untilWritten()
    await loseEvents(clickhouse, ({ event_id }) => Number(event_id) % 3 === 0)
    const replaying = world.replay({ source })
    for (let from = 0; from < 600; from += 20) await world.sdk(tenant, JSON.stringify({ events: batch(from) }))
    expect(await replaying).toMatchObject(done)
    await world.untilWritten()
    const verdict = await verifyEvents(clickhouse, [], [])
    expect([isExact(verdict), verdict.in_events_raw]).toEqual([true, 600])
  })
})

test('one replay at a time, and the stop of the service ends it', async () => {
  const [tenant] = tenants
  const lone = { event_id: '1', event_name: 'e', install_uuid: 'i', event_ts_ms: start_ms }
  await world.sdk(tenant, JSON.stringify({ events: [lone] }))
  await world.untilWritten()
  await loseEvents(clickhouse, () => false)
  const held = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  world.log.before = () => {
    reached.resolve()
    return held.promise
  }
  const first = world.replay({ source: 'log' })
  await reached.promise
  expect(await world.replay({ source: 'audit' })).toMatchObject({ error: 'replay_running' })
  const began_ms = performance.now()
  const closing = world.app.close()
  held.resolve()
  await closing
  // Its connection does not stay open until the server gives up waiting for it.
  expect(performance.now() - began_ms).toBeLessThan(limits.drain_ms_max)
  expect(await first).toMatchObject({ state: 'stopped' })
})

describe('what the audit store can not tell is counted', () => {
  const dry = { source: 'audit', dry_run: true } as const
  const lone = { event_name: 'e', install_uuid: 'i', event_ts_ms: start_ms }

  test('an event that was minted an id, which is filled', async () => {
    await world.single(tenants[0], lone)
    await world.bulk(tenants[0], [lone, { ...lone, event_id: 'own' }])
    await world.untilWritten()
    await loseEvents(clickhouse, () => false)
    expect(await world.replay(dry)).toMatchObject({ filled: 3, unknown: 2, unknown_reasons: { minted_id: 2 } })
  })

  test('requests whose publish failed: `filled` of a dry run on whole tables', async () => {
    world.log.before = () => Promise.reject(new Error('the log is away'))
    const failed = await world.single(tenants[0], { ...lone, event_id: 'failed' })
    expect(failed.body.error).toBe('unavailable')
    world.log.before = async () => {}
    expect(await world.replay(dry)).toMatchObject({ ...done, replayed: 1, filled: 1, unknown: 0 })
    // What the client sends again is that event.
    await world.single(tenants[0], { ...lone, event_id: 'failed' })
    await world.untilWritten()
    expect(await world.replay(dry)).toMatchObject({ replayed: 1, filled: 0 })
  })

  test('objects that are none of a gateway, of postbacks too, and apps that are gone', async () => {
    const [{ app_id }] = tenants
    await world.audit.putOnce(`${app_id}/s2s/2026-06-01/broken.json`, Buffer.from('{"received_at_ms":'))
    await world.audit.putOnce(`audit/2026/06/01/co_1/app_gone/1-a-1.jsonl.gz`, Buffer.from('x'))
    // No app owns the object that `tributary doctor` leaves.
    await world.audit.putOnce('doctor/write-once', Buffer.from('first'))
    await world.audit.putOnce(`app_lost/s2s/2026-06-01/a.json`, Buffer.from('{}'))
    await world.audit.putOnce('postbacks/skan/2026/06/01/1-a-1.jsonl.gz', Buffer.from('x'))
    await world.audit.putOnce(
      `${app_id}/s2s/bulk/2026-06-01/${randomUUID()}.json`,
      Buffer.from(
        JSON.stringify({
          ...{ minted_event_ids: {}, received_at_ms: start_ms, ip: '' },
          headers: { 'user-agent': '', 'x-service-sdk': '', 'x-service-platform': '' },
          body: { events: [lone] },
        }),
      ),
    )
    const { unknown, unknown_reasons } = (await world.replay(dry)) as Extract<
      Awaited<ReturnType<World['replay']>>,
      { unknown: number }
    >
    expect([unknown, unknown_reasons]).toEqual([5, { unreadable_object: 2, app_gone: 2, without_id: 1 }])
  })
})
