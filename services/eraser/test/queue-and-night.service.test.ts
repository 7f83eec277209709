import { randomBytes } from 'node:crypto'
import { erasures_begun_key, namedErasureKey, queuedErasureKey } from '@tributary/contracts/erasure'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { findAppsWithErasedObjects, noteErasedObjects } from '@tributary/erasure/audit/erased-objects'
import { folderOf } from '@tributary/erasure/audit/rewrite-counts'
import { countUnreadable } from '@tributary/erasure/audit/unreadable-objects'
import { findCertificate } from '@tributary/erasure/find-certificate'
import { queueErasures } from '@tributary/erasure/queue-erasures'
import { findRun, requestRun } from '@tributary/erasure/runs'
import { writeTombstones } from '@tributary/erasure/write-tombstones'
import { applyServiceRoles } from '@tributary/postgres/apply-service-roles'
import { roleOf } from '@tributary/postgres/service-roles'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { Pool as PgPool, type Pool } from 'pg'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { eraser } from '../src/eraser.ts'
import { erasureJob } from '../src/run/nightly.ts'
import { takeRequests } from '../src/run/open-requests.ts'
import { auditRewriting } from '../src/run/rewrite-audit-objects.ts'
import { type EraserDeps, runErasures } from '../src/run/run-erasures.ts'

const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
const midnight = Date.UTC(2026, 5, 1)
const hour_ms = 3_600_000
const logger = pino({ level: 'silent' })

let db: TestPostgres
/** With the rights of the service, and no others. */
let own: Pool
beforeAll(async () => {
  db = await openTestPostgres()
  await applyServiceRoles(db.pool, { eraser: randomBytes(24).toString('hex') })
  const url = new URL(db.url)
  url.searchParams.set('options', `-c role=${roleOf('eraser')}`)
  own = new PgPool({ connectionString: url.href, max: 5 })
})
afterAll(async () => {
  await own.end()
  await db.close()
})

async function makeApp(keys = masterKeys): Promise<string> {
  const request = { actor: 'test', request_id: 'r', now_ms: midnight }
  const { company_id } = await createCompany(db.pool, { name: 'Acme', plan: 'free' }, request)
  return (await createApp(db.pool, keys, { company_id, name: 'Game', platform: 'ios' }, request)).app_id
}

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

/** Engines with nothing in them. */
const emptyDeps = (more: Partial<EraserDeps> = {}) =>
  ({
    ...{ pool: own, masterKeys, keyValue: memoryKeyValue(() => midnight), now: () => midnight, logger },
    clickhouse: { isInserting: async () => false, query: async () => [] },
    audit: { rewriteApp: async () => new Map(), rewriteArchives: async () => new Map(), rewriteNoted: async () => {} },
    findOlderWork: async () => [],
    pause: async () => {},
    ...more,
  }) as unknown as EraserDeps

async function runOnce(deps: EraserDeps, signal = new AbortController().signal) {
  await runErasures(deps, await requestRun(db.pool, midnight), signal)
}

const stateOf = async (app_id: string, keys = masterKeys) =>
  (await findCertificate({ pool: db.pool, masterKeys: keys }, app_id, 'a'))?.state
const ask = (app_id: string, keys = masterKeys) =>
  queueErasures({ pool: db.pool, masterKeys: keys }, [
    { app_id, install_uuid: 'a', requested_at_ms: midnight - 1, asked_by: 'sdk' },
  ])

test('an app whose salt is unreadable holds up no other app', async () => {
  const lost = openMasterKeys([{ id: 'lost', key: Buffer.alloc(32, 9) }])
  const [locked, open] = [await makeApp(lost), await makeApp()]
  await ask(locked, lost)
  await ask(open)
  await runOnce(emptyDeps())
  expect([await stateOf(open), await stateOf(locked, lost)]).toEqual(['completed', 'queued'])
  await db.pool.query('DELETE FROM erasure_requests')
})

test('an app that waits for an older batch for ever keeps no other app from being completed, nor later requests', async () => {
  const [waiting, open, later] = [await makeApp(), await makeApp(), await makeApp()]
  await ask(waiting)
  await ask(open)
  // A click of a batch before the one that has to wait.
  await db.pool.query(`INSERT INTO erasure_clicks VALUES ($1, 'c', 'a'), ($2, 'c', 'a')`, [waiting, open])
  const stopped = new AbortController()
  let pauses = 0
  const rewriteNoted = vi.fn(async () => {})
  const run = runOnce(
    emptyDeps({
      audit: { ...emptyDeps().audit, rewriteNoted },
      findOlderWork: async (_number, installs) =>
        installs.some(({ app_id }) => app_id === waiting) ? [{ consumer: 'event-writer', partition: 1 }] : [],
      async pause() {
        pauses += 1
        if (pauses === 1) await ask(later)
        if (pauses === 5) stopped.abort(new Error('stopped'))
      },
    }),
    stopped.signal,
  )
  await expect(run).rejects.toThrow('stopped')
  // Objects of what came after earlier erasures do not wait either.
  expect(rewriteNoted).toHaveBeenCalledTimes(1)
  expect(await Promise.all([stateOf(waiting), stateOf(open), stateOf(later)])).toEqual([
    ...['draining', 'completed', 'completed'],
  ])
  const clicks = await db.pool.query('SELECT app_id FROM erasure_clicks')
  expect(clicks.rows).toEqual([{ app_id: waiting }])
  await db.pool.query('DELETE FROM erasure_requests')
})

test('the only request of an app is carried out within its turn, and completed, before the 300 of another one', async () => {
  const [flooded, other] = [await makeApp(), await makeApp()]
  const flood = Array.from({ length: 300 }, (_, n) => `flood-${n}`)
  const asked = flood.map((install_uuid) => ({ app_id: flooded, install_uuid }))
  await queueErasures(
    { pool: db.pool, masterKeys },
    [...asked, { app_id: other, install_uuid: 'a' }].map((one, n) => ({
      ...{ ...one, requested_at_ms: midnight - 1000 + n, asked_by: 'sdk' as const },
    })),
  )
  let now_ms = midnight
  const countLeft = async () => {
    const { rows } = await db.pool.query(
      'SELECT count(*)::int AS left FROM erasure_requests WHERE app_id = $1 AND drained_at_ms IS NULL',
      [flooded],
    )
    return rows[0].left as number
  }
  const seen: { left: number; state: string | undefined }[] = []
  await runOnce(
    emptyDeps({
      now: () => now_ms,
      async findOlderWork() {
        // Each batch takes a minute.
        now_ms += 60_000
        seen.push({ left: await countLeft(), state: await stateOf(other) })
        return []
      },
    }),
  )
  const certificate = await findCertificate({ pool: db.pool, masterKeys }, other, 'a')
  const first = await findCertificate({ pool: db.pool, masterKeys }, flooded, 'flood-25')
  expect(certificate!.drained_at_ms).toBeLessThan(first!.drained_at_ms!)
  expect(seen.find(({ state }) => state === 'completed')!.left).toBeGreaterThan(0)
  expect([await countLeft(), await stateOf(other)]).toEqual([0, 'completed'])
  await db.pool.query('DELETE FROM erasure_requests')
})

test('notes of an app whose salt is unreadable stop no other', async () => {
  const lost = openMasterKeys([{ id: 'lost', key: Buffer.alloc(32, 9) }])
  const locked = await makeApp(lost)
  const audit = memoryAuditStore()
  audit.objects.set(`${locked}/s2s/2026-06-01/e.json`, Buffer.from('{"install_uuid":"a"}'))
  await writeTombstones({ pool: db.pool, masterKeys: lost }, [
    { app_id: locked, kind: 'install', id: 'a', mark_ms: midnight },
  ])
  await noteErasedObjects(db.pool, locked, ['s2s/2026-06-01/e.json'])
  const { rewriteNoted } = auditRewriting({ pool: own, masterKeys, audit, now: () => midnight, logger })
  await rewriteNoted(new AbortController().signal)
  expect(await findAppsWithErasedObjects(db.pool)).toEqual([locked])
  await db.pool.query('DELETE FROM erased_objects')
})

test('an erasure is not completed while an audit object or archive of its app is unreadable, and no other waits for it', async () => {
  await db.pool.query('DELETE FROM erasure_requests')
  const [broken, other] = [await makeApp(), await makeApp()]
  const audit = memoryAuditStore()
  const name = `${broken}/s2s/2026-06-01/broken.json`
  const denied = `${broken}/s2s/bulk/2026-06-01/denied.json`
  const archive = 'clicks/2026/06/01/log/0/0-1.jsonl.gz'
  audit.objects.set(name, Buffer.from('{"install_uuid":"a"'))
  audit.objects.set(denied, Buffer.from('{"received_at_ms":1,"body":{"events":[{"install_uuid":"a"}]}}'))
  audit.objects.set(archive, Buffer.from('no gzip'))
  let isDenied = true
  const lines: object[] = []
  const told = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const rewriting = auditRewriting({
    ...{ pool: own, masterKeys, now: () => midnight, logger: told },
    audit: {
      ...audit,
      async replace(key, previous, content) {
        if (isDenied && key === denied) throw Object.assign(new Error('locked'), { name: 'AccessDenied' })
        return audit.replace(key, previous, content)
      },
    },
  })
  const run = () => runOnce(emptyDeps({ audit: rewriting }))
  const certificateOf = (app_id: string, uuid = 'a') => findCertificate({ pool: db.pool, masterKeys }, app_id, uuid)
  const askFor = (app_id: string, install_uuid: string) =>
    queueErasures({ pool: db.pool, masterKeys }, [
      { app_id, install_uuid, requested_at_ms: midnight - 1, asked_by: 'sdk' },
    ])

  await ask(broken)
  await ask(other)
  await db.pool.query(`INSERT INTO erasure_clicks VALUES ($1, '019e0000-0000-7000-8000-000000000000', 'a')`, [broken])
  await run()
  expect(await certificateOf(broken)).toMatchObject({ state: 'draining', objects_unreadable: 3 })
  expect(await certificateOf(other)).not.toHaveProperty('objects_unreadable')
  expect(await stateOf(other)).toBe('completed')
  expect(await countUnreadable(db.pool)).toBe(3)
  for (const folder of [name, denied, archive].map(folderOf))
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 50, app_ids: [broken], folder, objects_unreadable: 1 }),
    )
  const { rows } = await db.pool.query('SELECT 1 FROM erasure_requests WHERE install_uuid IS NOT NULL')
  expect(rows).toEqual([])

  // A later request of the same app ends as well, and waits for the same objects.
  await askFor(broken, 'b')
  isDenied = false
  await run()
  expect(audit.objects.get(denied)?.toString()).toContain('"events":[]')
  expect(await certificateOf(broken)).toMatchObject({ state: 'draining', objects_unreadable: 2 })
  expect(await certificateOf(broken, 'b')).toMatchObject({ state: 'draining', objects_unreadable: 2 })

  // Somebody restores one and removes the other.
  audit.objects.set(name, Buffer.from('{"received_at_ms":1,"body":{"install_uuid":"a"}}'))
  audit.objects.delete(archive)
  await run()
  expect(audit.objects.has(name)).toBe(false)
  expect([await stateOf(broken), await countUnreadable(db.pool)]).toEqual(['completed', 0])
  expect(await certificateOf(broken, 'b')).not.toHaveProperty('objects_unreadable')

  // An object that breaks after an erasure was completed says nothing against it.
  audit.objects.set(name, Buffer.from('{"install_uuid":"c"'))
  await askFor(broken, 'c')
  await run()
  expect([await stateOf(broken), (await certificateOf(broken, 'c'))?.state]).toEqual(['completed', 'draining'])
  await db.pool.query('DELETE FROM unreadable_objects; DELETE FROM erasure_requests')
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
  const [mark, named] = [queuedErasureKey(app_id, 'a'), namedErasureKey(app_id, 'a')]
  // That of a gateway of an earlier version.
  await keyValue.addCapped(named, 1, 1, 1000)
  const seen: [string, unknown][] = []
  const watched = {
    ...keyValue,
    async settle(...given: Parameters<typeof keyValue.settle>) {
      seen.push([given[0], await stateOf(app_id)])
      return keyValue.settle(...given)
    },
    async remove(key: string) {
      const state = await stateOf(app_id)
      seen.push([key, state])
      await keyValue.remove(key)
      // A gateway may be late: its mark is not valid, and goes with the end of the erasure.
      if (key === mark && state === 'queued') await keyValue.settle(key, midnight - 1, null, 1000)
    },
  }
  await runOnce(emptyDeps({ keyValue: watched }))
  expect(seen.filter(([key]) => key !== named)).toEqual([
    [erasures_begun_key, 'queued'],
    [mark, 'queued'],
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
  const settle = async () => {
    now_ms += limits.erasure_begin_ms + 1
    return 0
  }
  const slow = { ...memoryKeyValue(() => now_ms), settle }
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
  const a_day = limits.erasures_max * 24 * 60
  await db.pool.query(
    `INSERT INTO erasure_requests (app_id, install_hash, install_uuid, asked_by, requested_at_ms)
     SELECT $1, decode(md5(n::text), 'hex'), 'i-' || n, 'sdk', $2 FROM generate_series(1, $3::int) AS n`,
    [await makeApp(), midnight - 1, a_day],
  )
  const { pool, keyValue, now } = emptyDeps()
  expect(await takeRequests({ pool, masterKeys, keyValue, now })).toBe(a_day)
  await db.pool.query('DELETE FROM erasure_requests')
})
