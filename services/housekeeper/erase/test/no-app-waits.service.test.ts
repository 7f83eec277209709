import { day_ms, limits } from '@tributary/contracts/limits'
import { findAppsWithErasedObjects, noteErasedObjects } from '@tributary/erasure/audit/erased-objects'
import { folderOf } from '@tributary/erasure/audit/rewrite-counts'
import { countUnreadable } from '@tributary/erasure/audit/unreadable-objects'
import { findCertificate } from '@tributary/erasure/find-certificate'
import { queueErasures } from '@tributary/erasure/queue-erasures'
import { raw_events_lock } from '@tributary/erasure/raw-events-lock'
import { requestRun } from '@tributary/erasure/runs'
import { writeTombstones } from '@tributary/erasure/write-tombstones'
import { unlessRunning } from '@tributary/postgres/one-at-a-time'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { pino } from 'pino'
import { afterAll, expect, test, vi } from 'vitest'
import { erasureJob } from '../src/run/nightly.ts'
import { auditRewriting } from '../src/run/rewrite-audit-objects.ts'
import { logger, masterKeys, midnight, openEraserStage } from './eraser-stage.ts'

const { db, own, makeApp, emptyDeps, runOnce, stateOf, ask, close } = await openEraserStage()
afterAll(close)

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
  let now_ms = midnight
  const rewriteNoted = vi.fn(async () => {})
  const run = runOnce(
    emptyDeps({
      now: () => now_ms,
      audit: { ...emptyDeps().audit, rewriteNoted },
      findOlderWork: async (_number, installs) =>
        installs.some(({ app_id }) => app_id === waiting) ? [{ consumer: 'event-writer', partition: 1 }] : [],
      async pause() {
        pauses += 1
        if (pauses === 1) await ask(later)
        // A clock that was ahead is corrected.
        if (pauses === 3) now_ms -= 40 * day_ms
        if (pauses === 5) stopped.abort(new Error('stopped'))
      },
    }),
    stopped.signal,
  )
  await expect(run).rejects.toThrow('stopped')
  // Objects of what came after earlier erasures do not wait either, nor for a clock to come back to where it was.
  expect(rewriteNoted).toHaveBeenCalledTimes(2)
  expect(await Promise.all([stateOf(waiting), stateOf(open), stateOf(later)])).toEqual([
    ...['draining', 'completed', 'completed'],
  ])
  const clicks = await db.pool.query('SELECT app_id FROM erasure_clicks')
  expect(clicks.rows).toEqual([{ app_id: waiting }])
  await db.pool.query('DELETE FROM erasure_requests')
})

test('an app whose audit objects cannot be rewritten keeps no other app from being completed, nor do those of earlier erasures', async () => {
  const [failing, other] = [await makeApp(), await makeApp()]
  for (const app_id of [failing, other]) await ask(app_id)
  await db.pool.query(`INSERT INTO erasure_clicks VALUES ($1, 'c', 'a'), ($2, 'c', 'a')`, [failing, other])
  const { audit } = emptyDeps()
  const deps = emptyDeps({
    audit: {
      ...audit,
      async rewriteApp(app_id) {
        if (app_id === failing) throw new Error('access denied')
        return new Map()
      },
      rewriteNoted: () => Promise.reject(new Error('access denied')),
    },
  })
  await expect(runOnce(deps)).rejects.toThrow('access denied')
  expect(await Promise.all([failing, other].map((app_id) => stateOf(app_id)))).toEqual(['draining', 'completed'])
  const clicks = await db.pool.query('SELECT app_id FROM erasure_clicks WHERE app_id IN ($1, $2)', [failing, other])
  expect(clicks.rows).toEqual([{ app_id: failing }])

  await runOnce(emptyDeps())
  expect(await stateOf(failing)).toBe('completed')
})

test('an erasure that waits lets retention delete raw events, which no step of an erasure sees going', async () => {
  const app_id = await makeApp()
  await ask(app_id)
  const tryRetention = async () => (await unlessRunning(db.pool, raw_events_lock, async () => 'deleted'))?.result
  const tried = { in_steps: new Set<unknown>(), between: new Set<unknown>() }
  let pauses = 0
  const { audit } = emptyDeps()
  await runOnce(
    emptyDeps({
      audit: {
        ...audit,
        async findAudited() {
          tried.between.add(await tryRetention())
          return new Map()
        },
      },
      async findOlderWork() {
        tried.in_steps.add(await tryRetention())
        return pauses < 3 ? [{ consumer: 'event-writer', partition: 1 }] : []
      },
      async pause() {
        pauses += 1
        tried.between.add(await tryRetention())
      },
    }),
  )
  expect(tried).toEqual({ in_steps: new Set([undefined]), between: new Set(['deleted']) })
  expect(await stateOf(app_id)).toBe('completed')
})

test('an app whose statements always fail keeps no other app from being completed, and its run does not count as done', async () => {
  const [failing, others] = [await makeApp(), [await makeApp(), await makeApp()]]
  for (const app_id of [failing, ...others]) await ask(app_id)
  const lines: object[] = []
  const told = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const { clickhouse } = emptyDeps()
  let isTaken = false
  const query = async (sql: string) => {
    if (isTaken && sql.includes(failing)) throw new Error('Max query size exceeded')
    return []
  }
  const deps = emptyDeps({
    ...{ logger: told, clickhouse: { ...clickhouse, query } as typeof clickhouse },
    async findOlderWork() {
      isTaken = true
      return []
    },
  })
  await expect(runOnce(deps)).rejects.toThrow('Max query size exceeded')
  expect(await Promise.all([failing, ...others].map((app_id) => stateOf(app_id)))).toEqual([
    ...['draining', 'completed', 'completed'],
  ])
  expect(lines).toEqual([expect.objectContaining({ level: 50, app_id: failing })])

  await runOnce(emptyDeps())
  expect(await stateOf(failing)).toBe('completed')
  await db.pool.query('DELETE FROM erasure_requests')
})

test('an app whose requests cannot be taken keeps no other app from being completed, and its requests wait for the next run', async () => {
  const [failing, others] = [await makeApp(), [await makeApp(), await makeApp()]]
  for (const app_id of [failing, ...others]) await ask(app_id)
  const { clickhouse } = emptyDeps()
  const query = async (sql: string) => {
    if (sql.includes(failing)) throw new Error('Max query size exceeded')
    return []
  }
  const deps = emptyDeps({ clickhouse: { ...clickhouse, query } as typeof clickhouse })
  await expect(runOnce(deps)).rejects.toThrow('Max query size exceeded')
  expect(await Promise.all([failing, ...others].map((app_id) => stateOf(app_id)))).toEqual([
    ...['queued', 'completed', 'completed'],
  ])

  await runOnce(emptyDeps())
  expect(await stateOf(failing)).toBe('completed')
  await db.pool.query('DELETE FROM erasure_requests')
})

test('while the audit store is away no erasure begins, and those that have begun go on', async () => {
  const [begun, queued] = [await makeApp(), await makeApp()]
  await ask(begun)
  await expect(runOnce(emptyDeps({ findOlderWork: () => Promise.reject(new Error('killed')) }))).rejects.toThrow(
    'killed',
  )
  await ask(queued)
  const { audit } = emptyDeps()
  let asked = 0
  async function findAudited(): Promise<never> {
    asked += 1
    throw new Error('no answer of S3')
  }
  await expect(runOnce(emptyDeps({ audit: { ...audit, findAudited } }))).rejects.toThrow('The audit store is away')
  expect([await stateOf(begun), await stateOf(queued), asked]).toEqual(['completed', 'queued', 1])
  await runOnce(emptyDeps())
  expect(await stateOf(queued)).toBe('completed')
})

test('a run that has lost its lease begins no other app', async () => {
  const apps = [await makeApp(), await makeApp()]
  for (const app_id of apps) await ask(app_id)
  const leaseHeld = async () => {
    throw new Error('the lease is lost')
  }
  const begun: string[] = []
  const atStep = (step: string) => void begun.push(step)
  // Each app has begun its batch before the first one goes on with it.
  await expect(runOnce(emptyDeps({ leaseHeld, atStep }))).rejects.toThrow('the lease is lost')
  expect(begun).toEqual(['begin', 'begin'])
  expect(await Promise.all(apps.map((app_id) => stateOf(app_id)))).toEqual(['draining', 'draining'])
  await db.pool.query('DELETE FROM erasure_batches; DELETE FROM erasure_requests')
})

test('a run whose engine is away tries no other app', async () => {
  for (const app_id of [await makeApp(), await makeApp()]) await ask(app_id)
  const { clickhouse } = emptyDeps()
  let isAway = false
  let tried = 0
  const deps = emptyDeps({
    clickhouse: {
      ...clickhouse,
      async isInserting() {
        if (isAway) throw new Error('away')
        return false
      },
    } as typeof clickhouse,
    async findOlderWork() {
      isAway = true
      tried += 1
      throw new Error('away')
    },
  })
  await expect(runOnce(deps)).rejects.toThrow('away')
  expect(tried).toBe(1)
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
        // The flood takes twice the pause.
        now_ms += limits.erasure_finish_pause_ms / 12
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

test('a request that comes while the flood of another app is erased is taken, carried out and completed within seconds', async () => {
  const [flooded, other] = [await makeApp(), await makeApp()]
  const flood = Array.from({ length: 300 }, (_, n) => ({ app_id: flooded, install_uuid: `flood-${n}` }))
  const queue = (asked: readonly { app_id: string; install_uuid: string }[]) =>
    queueErasures(
      { pool: db.pool, masterKeys },
      asked.map((one) => ({ ...one, requested_at_ms: midnight - 1, asked_by: 'sdk' as const })),
    )
  await queue(flood)
  let now_ms = midnight
  let turns = 0
  const states = new Set<string | undefined>()
  await runOnce(
    emptyDeps({
      now: () => now_ms,
      async findOlderWork() {
        now_ms += 1000
        turns += 1
        if (turns === 2) await queue([{ app_id: other, install_uuid: 'a' }])
        if (turns < 11) states.add(await stateOf(other))
        return []
      },
    }),
  )
  expect(turns).toBeGreaterThan(11)
  expect(states).toContain('completed')
  await db.pool.query('DELETE FROM erasure_requests; DELETE FROM erasure_runs')
})

test('a run ends with what it began with, however many requests come meanwhile, and the next one takes these at once', async () => {
  await db.pool.query('DELETE FROM erasure_requests; DELETE FROM erasure_runs')
  const app_id = await makeApp()
  await ask(app_id)
  let now_ms = midnight
  let asked = 0
  const deps = emptyDeps({
    now: () => now_ms,
    async findOlderWork() {
      now_ms += 30_000
      asked += 1
      const more = { app_id, install_uuid: `more-${asked}`, requested_at_ms: now_ms, asked_by: 'sdk' as const }
      if (asked <= 30) await queueErasures({ pool: db.pool, masterKeys }, [more])
      return []
    },
  })
  await requestRun(db.pool, midnight)
  await erasureJob(deps)(new AbortController().signal)
  const count = async (sql: string) => (await db.pool.query(`SELECT count(*)::int AS n FROM ${sql}`)).rows[0].n
  expect(await count('erasure_runs WHERE ended_at_ms IS NOT NULL')).toBeGreaterThan(1)
  expect(await count('erasure_requests WHERE install_uuid IS NOT NULL')).toBe(0)
  await db.pool.query('DELETE FROM erasure_requests; DELETE FROM erasure_runs')
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
