import { gunzipSync, gzipSync } from 'node:zlib'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findAppsWithErasedObjects, noteErasedObjects } from '../../src/audit/erased-objects.ts'
import { rewriteNotedObjects } from '../../src/audit/rewrite-noted-objects.ts'

const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
const request = { actor: 'test', request_id: 'r', now_ms: 0 }
const mark_ms = Date.UTC(2026, 5, 10)

let db: TestPostgres
beforeAll(async () => {
  db = await openTestPostgres()
})
afterAll(() => db.close())

async function makeApp(): Promise<string> {
  const { company_id } = await createCompany(db.pool, { name: 'Acme', plan: 'free' }, request)
  return (await createApp(db.pool, masterKeys, { company_id, name: 'Game', platform: 'ios' }, request)).app_id
}

/** An event that came after the mark and is dated before it: a consumer drops it as erased. */
const late = (install_uuid: string) => ({ install_uuid, event_ts_ms: mark_ms - 1 })
const head = { received_at_ms: mark_ms + 5, ip: '', headers: {} }
const lineOf = (...events: object[]) => `${JSON.stringify({ ...head, body: { events } })}\n`
const markOf = (install_uuid: string) => (install_uuid.startsWith('gone') ? mark_ms : null)

const sdkKey = (app_id: string, n: number) => `audit/2026/06/10/co_1/${app_id}/1-g-${n}.jsonl.gz`
const notesOf = async (app_id: string) =>
  (await db.pool.query('SELECT audit_key FROM erased_objects WHERE app_id = $1 ORDER BY 1', [app_id])).rows.map(
    (row: { audit_key: string }) => row.audit_key,
  )

function rewrite(audit: Parameters<typeof rewriteNotedObjects>[0]['audit'], app_id: string) {
  const signal = new AbortController().signal
  return rewriteNotedObjects({ audit, pool: db.pool, app_id, markOf, now: () => mark_ms + 10, signal })
}

test('noted objects lose what was dropped as erased, keep a new life, and their notes go', async () => {
  const [app_id, other] = [await makeApp(), await makeApp()]
  const audit = memoryAuditStore()
  const life = { install_uuid: 'gone-1', event_ts_ms: mark_ms + 1 }
  audit.objects.set(sdkKey(app_id, 1), gzipSync(lineOf(late('gone-1'), life, late('stays'))))
  audit.objects.set(`${app_id}/s2s/2026-06-10/e.json`, Buffer.from(JSON.stringify({ ...head, body: late('gone-2') })))
  audit.objects.set(`${app_id}/s2s/bulk/2026-06-10/b.json`, Buffer.from(lineOf(late('gone-2'))))
  audit.objects.set(sdkKey(other, 1), gzipSync(lineOf(late('gone-1'))))
  const theirs = audit.objects.get(sdkKey(other, 1))
  const keys = [sdkKey(app_id, 1), 's2s/2026-06-10/e.json', 's2s/bulk/2026-06-10/b.json']
  const foreign = [sdkKey(other, 1), sdkKey(app_id, 99), `privacy/2026-06-10/gone-1~1.json`]
  await noteErasedObjects(db.pool, app_id, [...keys, ...foreign, ...keys])
  await noteErasedObjects(db.pool, app_id, keys)
  await noteErasedObjects(db.pool, other, [])
  expect(await findAppsWithErasedObjects(db.pool)).toContain(app_id)

  expect(await rewrite(audit, app_id)).toMatchObject({ objects_read: 3, objects_rewritten: 3 })
  expect(gunzipSync(audit.objects.get(sdkKey(app_id, 1))!).toString()).toBe(lineOf(life, late('stays')))
  expect(audit.objects.has(`${app_id}/s2s/2026-06-10/e.json`)).toBe(false)
  expect(audit.objects.get(`${app_id}/s2s/bulk/2026-06-10/b.json`)?.toString()).toContain('"events":[]')
  expect(audit.objects.get(sdkKey(other, 1))).toBe(theirs)
  expect(await notesOf(app_id)).toEqual([])
  expect(await findAppsWithErasedObjects(db.pool)).not.toContain(app_id)
})

test('a note stays when its object could not be rewritten, and when it was noted again meanwhile', async () => {
  const app_id = await makeApp()
  const audit = memoryAuditStore()
  const key = sdkKey(app_id, 1)
  audit.objects.set(key, gzipSync(lineOf(late('gone-1'))))
  await noteErasedObjects(db.pool, app_id, [key])
  audit.fault = new Error('away')
  await expect(rewrite(audit, app_id)).rejects.toThrow('away')
  expect(await notesOf(app_id)).toEqual([key])
  audit.fault = null
  const beside = {
    ...audit,
    async replace(...call: Parameters<typeof audit.replace>) {
      await noteErasedObjects(db.pool, app_id, [key])
      return audit.replace(...call)
    },
  }
  await rewrite(beside, app_id)
  expect(await notesOf(app_id)).toEqual([key])
  await rewrite(audit, app_id)
  expect(await notesOf(app_id)).toEqual([])
})

test('thousands of notes of many consumers at once are each kept once', async () => {
  const app_id = await makeApp()
  const keys = Array.from({ length: 2500 }, (_, n) => `s2s/2026-06-10/${n}.json`)
  await Promise.all([keys, keys.toReversed(), keys.slice(1000)].map((some) => noteErasedObjects(db.pool, app_id, some)))
  expect((await notesOf(app_id)).length).toBe(2500)
  await rewrite(memoryAuditStore(), app_id)
  expect(await notesOf(app_id)).toEqual([])
})
