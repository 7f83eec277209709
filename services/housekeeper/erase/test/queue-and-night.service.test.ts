import { erasures_begun_key, queuedErasureKey } from '@tributary/contracts/erasure'
import { CodedError } from '@tributary/contracts/errors'
import { day_ms, limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { findCertificate } from '@tributary/erasure/find-certificate'
import { findRun, requestRun } from '@tributary/erasure/runs'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { Registry } from 'prom-client'
import { afterAll, expect, test, vi } from 'vitest'
import { eraser } from '../src/eraser.ts'
import { openFailures } from '../src/run/failures.ts'
import { erasureJob } from '../src/run/nightly.ts'
import { takeRequests } from '../src/run/open-requests.ts'
import type { EraserDeps } from '../src/run/run-erasures.ts'
import { logger, masterKeys, midnight, openEraserStage } from './eraser-stage.ts'

const hour_ms = 3_600_000

const { db, own, makeApp, emptyDeps, runOnce, stateOf, ask, close } = await openEraserStage()
afterAll(close)

const recordOf = (app_id: string, install_uuid: string, requested_at_ms: number) => ({
  ...{ topic: topics.erasuresRequested.name, partition: 0, key: null },
  value: Buffer.from(
    JSON.stringify({ v: 1, company_id: 'co_1', app_id, install_uuid, requested_at_ms, audit_key: 'privacy/a' }),
  ),
})

test('requests are queued in any order and any number of times; those of no app, or of one whose salt is unreadable, become dead letters', async () => {
  const app_id = await makeApp()
  const lost = openMasterKeys([{ id: 'lost', key: Buffer.alloc(32, 9) }])
  const locked = await makeApp(lost)
  await ask(locked, lost)
  const broker = memoryBroker(1, () => midnight)
  const later = recordOf(app_id, 'a', midnight + 2)
  await broker.publish([later, recordOf(app_id, 'a', midnight + 1), recordOf('none', 'b', midnight)])
  await broker.publish([recordOf(locked, 'b', midnight), later])
  const consumer = eraser({ postgres: own, masterKeys })
  const registry = new Registry()
  const running = await runConsumer({ broker, consumer, logger, registry, now: () => midnight })
  const isDone = () => broker.isDone(consumer.name, consumer.topic.name, 0)
  await vi.waitFor(() => expect(isDone()).toBe(true), { timeout: 180_000, interval: 1 })
  await running.close()
  const { rows } = await db.pool.query('SELECT install_uuid, requested_at_ms FROM erasure_requests WHERE app_id = $1', [
    app_id,
  ])
  expect(rows).toEqual([{ install_uuid: 'a', requested_at_ms: String(midnight + 2) }])
  expect(await findCertificate({ pool: db.pool, masterKeys }, app_id, 'a')).toMatchObject({ state: 'queued' })
  const dead = await registry.getSingleMetricAsString('tributary_consumer_dead_total')
  for (const reason of ['unknown_app', 'salt_unreadable']) expect(dead).toMatch(new RegExp(`reason="${reason}".* 1`))
  await db.pool.query('DELETE FROM erasure_requests WHERE app_id = $1', [locked])
})

test('the eraser runs once a night from 02:00 UTC on, and whenever somebody asks', async () => {
  await db.pool.query('DELETE FROM erasure_requests')
  let now_ms = midnight + 2 * hour_ms - 1
  const deps = {
    ...{ pool: own, masterKeys, keyValue: memoryKeyValue(() => now_ms), now: () => now_ms, logger },
    clickhouse: { isInserting: async () => false },
    audit: { rewriteNoted: async () => {} },
    noteLog: async () => ({ unread: async () => [], endOf: () => null }),
  } as unknown as EraserDeps
  const job = erasureJob(deps)
  const nights = async () => {
    await job(new AbortController().signal)
    const { rows } = await db.pool.query('SELECT night::text, ended_at_ms FROM erasure_runs ORDER BY run')
    return rows
  }
  expect(await nights()).toEqual([])
  now_ms += 1
  const first = { night: '2026-06-01', ended_at_ms: String(now_ms) }
  expect(await nights()).toEqual([first])
  now_ms += 20 * hour_ms
  expect(await nights()).toEqual([first])
  const run = await requestRun(db.pool, now_ms)
  expect(await requestRun(db.pool, now_ms)).toBe(run)
  expect(await findRun(db.pool, run)).toMatchObject({ done: false, drained: 0 })
  await nights()
  expect(await findRun(db.pool, run)).toMatchObject({ done: true, drained: 0, batches: [] })
})

test.each([60_000, hour_ms, day_ms])(
  'a night that a clock ahead by %i ms has run is run again when it comes',
  async (jump_ms) => {
    await db.pool.query('DELETE FROM erasure_requests')
    await db.pool.query('DELETE FROM erasure_runs')
    const right_ms = Date.UTC(2026, 7, 1, limits.erasure_hour_utc)
    let now_ms = right_ms
    const deps = emptyDeps({ now: () => now_ms })
    const nightsAt = async (ms: number) => {
      now_ms = ms
      await erasureJob(deps)(new AbortController().signal)
      const { rows } = await db.pool.query<{ ended: string }>(
        'SELECT ended_at_ms AS ended FROM erasure_runs ORDER BY run',
      )
      return rows.map(({ ended }) => Number(ended))
    }
    const ahead = right_ms + 22 * hour_ms + jump_ms
    const before = await nightsAt(ahead)
    const next = right_ms + day_ms
    expect(await nightsAt(next)).toContain(next)
    // Clocks behind run no night twice.
    const all = await nightsAt(next + hour_ms)
    expect(await nightsAt(next - hour_ms)).toEqual(all)
    expect(all.length).toBeGreaterThanOrEqual(before.length)
  },
)

test.each([1, 2, 5])(
  'no night is left out after a clock that was ahead by %i whole days as a night began',
  async (days) => {
    await db.pool.query('DELETE FROM erasure_requests')
    await db.pool.query('DELETE FROM erasure_runs')
    const night_ms = Date.UTC(2026, 7, 1, limits.erasure_hour_utc)
    let now_ms = night_ms + days * day_ms
    const job = erasureJob(emptyDeps({ now: () => now_ms }))
    const signal = new AbortController().signal
    await job(signal)
    const nights = Array.from({ length: days + 2 }, (_, n) => night_ms + n * day_ms + 5_000)
    for (const ms of nights) {
      now_ms = ms
      await job(signal)
    }
    const { rows } = await db.pool.query<{ asked_at_ms: string }>(
      'SELECT asked_at_ms FROM erasure_runs WHERE night IS NOT NULL ORDER BY night',
    )
    expect(rows.map(({ asked_at_ms }) => Number(asked_at_ms))).toEqual(nights)
  },
)

test('a run that was broken off rewrites what any version of an object may have kept, by whatever clock it began', async () => {
  await db.pool.query('DELETE FROM erasure_requests; DELETE FROM erasure_runs')
  await requestRun(db.pool, midnight + day_ms)
  const since = async (fails: boolean, ms: number) => {
    const seen: unknown[] = []
    const { audit } = emptyDeps()
    async function rewriteNoted() {
      seen.push(...(await db.pool.query('SELECT begun_at_ms FROM erasure_runs WHERE ended_at_ms IS NULL')).rows)
      if (fails) throw new Error('killed')
    }
    const run = erasureJob(emptyDeps({ now: () => ms, audit: { ...audit, rewriteNoted } }))(
      new AbortController().signal,
    )
    await (fails ? expect(run).rejects.toThrow('killed') : run)
    return seen
  }
  expect(await since(true, midnight + day_ms)).toEqual([{ begun_at_ms: String(midnight + day_ms) }])
  expect(await since(false, midnight)).toEqual([{ begun_at_ms: '0' }])
})

test('the certificate of an app that is not there is unknown_app', async () => {
  const asked = findCertificate({ pool: db.pool, masterKeys }, 'none', 'a')
  await expect(asked).rejects.toMatchObject({ code: 'unknown_app' })
  expect(await findCertificate({ pool: db.pool, masterKeys }, await makeApp(), 'a')).toBeNull()
})

test('marks of gateways end before the tombstone is written, so that a request after it is stored', async () => {
  const app_id = await makeApp()
  await ask(app_id)
  const keyValue = memoryKeyValue(() => midnight)
  const mark = queuedErasureKey(app_id, 'a')
  await keyValue.reconcile(mark, midnight - 1, null, 1000)
  const seen: [string, unknown][] = []
  const watched = {
    ...keyValue,
    async reconcile(...given: Parameters<typeof keyValue.reconcile>) {
      seen.push([given[0], await stateOf(app_id)])
      return keyValue.reconcile(...given)
    },
    async remove(key: string) {
      seen.push([key, await stateOf(app_id)])
      await keyValue.remove(key)
    },
  }
  await runOnce(emptyDeps({ keyValue: watched }))
  expect(seen).toEqual([
    [erasures_begun_key, 'queued'],
    [erasures_begun_key, 'draining'],
    [mark, 'draining'],
  ])
  expect(await stateOf(app_id)).toBe('completed')
  const { rows } = await db.pool.query('SELECT max(mark_ms) AS mark FROM tombstones WHERE app_id = $1', [app_id])
  // A request behind the mark is queued, and known to be.
  expect(keyValue.totals).toEqual(new Map([[erasures_begun_key, Number(rows[0].mark)]]))
})

test('an erasure does not begin behind what it told the gateways', async () => {
  const app_id = await makeApp()
  await ask(app_id)
  let now_ms = midnight
  const reconcile = async () => {
    now_ms += limits.erasure_begin_ms + 1
    return 0
  }
  const slow = { ...memoryKeyValue(() => now_ms), reconcile }
  await expect(runOnce(emptyDeps({ keyValue: slow, now: () => now_ms }))).rejects.toThrow('took too long')
  expect(await stateOf(app_id)).toBe('queued')
  await db.pool.query('DELETE FROM erasure_requests')
})

test('nothing begins while a statement of another eraser is at work', async () => {
  const app_id = await makeApp()
  await ask(app_id)
  const clickhouse = { isInserting: async (name: string) => name === 'eraser/', query: async () => [] }
  await expect(runOnce(emptyDeps({ clickhouse } as unknown as EraserDeps))).rejects.toThrow('still at work')
  expect(await stateOf(app_id)).toBe('queued')
})

test('as many requests as an app can make in a day are taken at once', async () => {
  await db.pool.query('DELETE FROM erasure_requests')
  const hour = limits.erasures_max * 60
  const a_day = 24 * hour
  const app_id = await makeApp()
  for (let at = 0; at < a_day; at += hour)
    await db.pool.query(
      `INSERT INTO erasure_requests (app_id, install_hash, install_uuid, asked_by, requested_at_ms)
       SELECT $1, decode(md5(n::text), 'hex'), 'i-' || n, 'sdk', $2 FROM generate_series($3::int + 1, $4::int) AS n`,
      [app_id, midnight - 1, at, at + hour],
    )
  const failures = openFailures({ ...emptyDeps(), logger }, new AbortController().signal)
  expect(await takeRequests(emptyDeps(), failures)).toBe(a_day)
  await db.pool.query('DELETE FROM erasure_requests')
})

test('requests of several apps that were taken before something failed keep their tombstones', async () => {
  const app_ids = [await makeApp(), await makeApp()]
  for (const app_id of app_ids) await ask(app_id)
  let lowered = 0
  const keyValue = {
    ...memoryKeyValue(() => midnight),
    async mark() {
      lowered += 1
      if (lowered === 1) throw new Error('no answer')
      return null
    },
  }
  let now_ms = midnight
  const deps = emptyDeps({ keyValue, now: () => now_ms++ })
  const failures = openFailures({ ...emptyDeps(), logger }, new AbortController().signal)
  await takeRequests(deps, failures)
  const { rows } = await db.pool.query('SELECT count(*)::int AS written FROM tombstones WHERE app_id = ANY($1)', [
    app_ids,
  ])
  expect(rows).toEqual([{ written: 2 }])
  await db.pool.query('DELETE FROM erasure_requests')
})

test('while the counters are away no app is tried after another', async () => {
  for (const _ of [1, 2, 3]) await ask(await makeApp())
  let asked = 0
  const get = async () => {
    asked += 1
    throw new CodedError('unavailable', { message: 'Redis is away' })
  }
  const failures = openFailures({ ...emptyDeps(), logger }, new AbortController().signal)
  const keyValue = { ...memoryKeyValue(() => midnight), get }
  await expect(takeRequests(emptyDeps({ keyValue }), failures)).rejects.toThrow('Redis is away')
  expect(asked).toBeLessThanOrEqual(2)
  await db.pool.query('DELETE FROM erasure_requests')
})
