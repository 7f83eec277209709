import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { openFolderAuditStore } from '@tributary/audit-store/folder'
import { limits } from '@tributary/contracts/limits'
import { serverEventAuditKeys } from '@tributary/domain/audit-name'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { expect, onTestFinished, test } from 'vitest'
import { type RewriteAuditOptions, rewriteAudit } from '../../src/audit/rewrite-audit.ts'
import { folderOf } from '../../src/audit/rewrite-counts.ts'
import { rewrittenAt } from '../../src/audit/rewritten-mark.ts'

const mark_ms = Date.UTC(2026, 5, 10, 12)
const now_ms = mark_ms + 3_600_000
const company_id = 'co_1'
const headers = { 'user-agent': '', 'x-service-sdk': '', 'x-service-platform': '' }

function options(audit: RewriteAuditOptions['audit'], app_id: string, ids: string[]): RewriteAuditOptions {
  const installs = ids.map((install_uuid) => ({ install_uuid, mark_ms }))
  return { audit, company_id, app_id, installs, now: () => now_ms, signal: new AbortController().signal }
}

const line = (received_at_ms: number, ...ids: string[]) => {
  const events = ids.map((install_uuid) => ({ install_uuid, event_name: 'e' }))
  return `${JSON.stringify({ received_at_ms, ip: '', headers, body: { events } })}\n`
}
const sdkKey = (app_id: string, day: string, n = 1) =>
  `audit/${day.replaceAll('-', '/')}/${company_id}/${app_id}/${Date.parse(day)}-g-${n}.jsonl.gz`

async function openFolder() {
  const dir = await mkdtemp(join(tmpdir(), 'tributary-rewrite-'))
  const audit = await openFolderAuditStore({ dir })
  onTestFinished(async () => {
    await audit.close()
    await rm(dir, { recursive: true, force: true })
  })
  return { dir, audit }
}

/** All that a folder holds, names and inflated contents. */
async function textOf(dir: string): Promise<string> {
  const files = await readdir(dir, { recursive: true, withFileTypes: true })
  const texts = files.map(async (file) => {
    const content = file.isFile() ? await readFile(join(file.parentPath, file.name)) : Buffer.alloc(0)
    return `${file.name} ${file.name.endsWith('.gz') ? gunzipSync(content) : content}`
  })
  return (await Promise.all(texts)).join('\n')
}

test('nothing in the folder tells of the install: neither a name of an object, a journal, nor a long name', async () => {
  const { dir, audit } = await openFolder()
  const app_id = `app_${randomUUID()}`
  const [id, other] = ['gone-7c1d', 'stays-2f']
  for (const event_id of [`${id}-1`, `${id}-${'ü'.repeat(60)}`, `${other}-1`, `${other}-${'ü'.repeat(60)}`]) {
    const install_uuid = event_id.slice(0, event_id.indexOf('-', 6))
    const body_sha256 = randomUUID().replaceAll('-', '').repeat(2)
    const request = { body_sha256, event_id, received_at_ms: mark_ms, ip: '', headers, body: { install_uuid } }
    for (const audit_key of serverEventAuditKeys(request))
      await audit.putOnce(`${app_id}/${audit_key}`, Buffer.from(JSON.stringify(request)))
  }
  const request = { received_at_ms: mark_ms, ip: '', headers }
  const bulk = { minted_event_ids: { 0: 'm0', 1: 'm1' }, countries: { 0: 'FR', 1: 'DE' }, ...request }
  const events = [{ install_uuid: id }, { install_uuid: other }]
  const bulk_key = `${app_id}/s2s/bulk/2026-06-10/1.json`
  await audit.putOnce(bulk_key, Buffer.from(JSON.stringify({ ...bulk, body: { events } })))
  await audit.putOnce(sdkKey(app_id, '2026-06-10'), gzipSync(line(mark_ms, id) + line(mark_ms, other, id)))

  const counts = await rewriteAudit(options(audit, app_id, [id]))

  expect(counts).toMatchObject({ objects_read: 10, objects_rewritten: 6, objects_unreadable: 0 })
  expect(counts.rewritten_of).toEqual(new Map([[id, 6]]))
  const left = await textOf(dir)
  expect(left).not.toContain(id)
  expect(left).toContain(`${other}-1.json`)
  expect(JSON.parse((await audit.get(bulk_key))!.toString())).toEqual({
    ...{ rewritten_at_ms: now_ms, minted_event_ids: { 0: 'm1' }, countries: { 0: 'DE' }, ...request },
    body: { events: [{ install_uuid: other }] },
  })
  const [key = ''] = serverEventAuditKeys({ received_at_ms: mark_ms, event_id: `${id}-1`, body_sha256: '' })
  expect((await audit.get(`${app_id}/${key}`))?.toString()).toBe(`{"rewritten_at_ms":${now_ms},"body":null}`)
})

test('a scan begins on the first day that is given, tells of each day, and goes on behind the last that was told', async () => {
  const audit = memoryAuditStore()
  const app_id = `app_${randomUUID()}`
  const days = ['2025-12-31', '2026-06-08', '2026-06-09', '2026-06-10']
  for (const day of days) audit.objects.set(sdkKey(app_id, day), gzipSync(line(Date.parse(day), 'gone')))
  audit.objects.set(`${app_id}/s2s/2026-06-09/a.json`, Buffer.from(`{"received_at_ms":1,"body":{}}`))
  const told: [string, number, number][] = []
  const scan = {
    ...options(audit, app_id, ['gone']),
    first_day: '2026-06-08',
    async onDay(day: string, { objects_read, objects_rewritten }: { objects_read: number; objects_rewritten: number }) {
      told.push([day, objects_read, objects_rewritten])
      if (day === '2026-06-09') throw new Error('killed')
    },
  }
  await expect(rewriteAudit(scan)).rejects.toThrow('killed')
  await rewriteAudit({ ...scan, first_day: '2026-06-10' })
  expect(told).toEqual([
    ['2026-06-08', 1, 1],
    ['2026-06-09', 2, 1],
    ['2026-06-10', 1, 1],
  ])
  expect(days.map((day) => rewrittenAt(audit.objects.get(sdkKey(app_id, day))!))).toEqual([
    null,
    now_ms,
    now_ms,
    now_ms,
  ])
})

test('a broken object is counted and stays as it is; the others are rewritten', async () => {
  const audit = memoryAuditStore()
  const app_id = `app_${randomUUID()}`
  const broken = [
    [sdkKey(app_id, '2026-06-10', 2), gzipSync(line(mark_ms, 'gone')).subarray(0, -9)],
    [sdkKey(app_id, '2026-06-10', 3), gzipSync('{"install_uuid":"gone"}\n')],
    [sdkKey(app_id, '2026-06-10', 4), gzipSync(`${line(mark_ms, 'stays')}cut off`)],
    [`${app_id}/s2s/2026-06-10/a.json`, Buffer.from('{"received_at_ms":1,"body":{"install_uuid":"gone"')],
  ] as const
  for (const [key, content] of broken) audit.objects.set(key, content)
  audit.objects.set(sdkKey(app_id, '2026-06-10'), gzipSync(line(mark_ms, 'gone')))
  const counts = await rewriteAudit(options(audit, app_id, ['gone']))
  expect(counts).toMatchObject({ objects_read: 5, objects_rewritten: 1, objects_unreadable: 4 })
  for (const [key, content] of broken) expect(audit.objects.get(key)).toBe(content)
})

test('an object whose checksum in S3 is not that of its bytes is counted, and stops no other', async () => {
  const audit = memoryAuditStore()
  const app_id = `app_${randomUUID()}`
  for (const n of [1, 2]) audit.objects.set(sdkKey(app_id, '2026-06-10', n), gzipSync(line(mark_ms, 'gone')))
  // @smithy/core words it like this, without a name or code of its own.
  const cause = new Error('Checksum mismatch: expected "a" but received "b" in response header "x-amz-checksum-crc32".')
  const broken = {
    ...audit,
    async *list(of: string) {
      for await (const one of audit.list(of))
        yield one.kind === 'object' && one.key === sdkKey(app_id, '2026-06-10')
          ? { ...one, read: () => Promise.reject(cause) }
          : one
    },
  }
  const counts = await rewriteAudit(options(broken, app_id, ['gone']))
  expect(counts).toMatchObject({ objects_rewritten: 1, objects_unreadable: 1 })
})

test('a folder that cannot be listed is counted, and stops no other', async () => {
  const audit = memoryAuditStore()
  const app_id = `app_${randomUUID()}`
  for (const day of ['2026-06-09', '2026-06-10'])
    audit.objects.set(sdkKey(app_id, day), gzipSync(line(mark_ms, 'gone')))
  const folder = folderOf(sdkKey(app_id, '2026-06-09'))
  const broken = {
    ...audit,
    list(of: string) {
      if (of === folder) throw Object.assign(new Error('input/output error'), { code: 'EIO' })
      return audit.list(of)
    },
  }
  const counts = await rewriteAudit(options(broken, app_id, ['gone']))
  expect(counts).toMatchObject({ objects_rewritten: 1, unreadable_in: new Map([[folder, 1]]) })
})

/** An error as the client of S3 throws it. */
const s3Error = (name: string, status: number) =>
  Object.assign(new Error(name), { name, $metadata: { httpStatusCode: status, attempts: 3 } })

test.for([
  ...[s3Error('AccessDenied', 403), s3Error('InvalidObjectState', 403), s3Error('KMS.DisabledException', 400)],
  ...[s3Error('MethodNotAllowed', 405), s3Error('InvalidRequest', 400), s3Error('InternalError', 500)],
])('an object that S3 refuses with $name is counted, and the others are rewritten', async (refusal) => {
  const audit = memoryAuditStore()
  const app_id = `app_${randomUUID()}`
  const keys = [1, 2, 3].map((n) => sdkKey(app_id, '2026-06-10', n))
  for (const key of keys) audit.objects.set(key, gzipSync(line(mark_ms, 'gone')))
  const refusing = {
    ...audit,
    async replace(key: string, previous: Buffer, content: Buffer) {
      if (key === keys[1]) throw refusal
      return audit.replace(key, previous, content)
    },
  }
  const counts = await rewriteAudit(options(refusing, app_id, ['gone']))
  expect(counts).toMatchObject({ objects_rewritten: 2, objects_unreadable: 1 })
})

test.for([
  ...[s3Error('SlowDown', 503), s3Error('ServiceUnavailable', 503), s3Error('TooManyRequests', 429)],
  ...[s3Error('NoSuchBucket', 404), s3Error('InvalidAccessKeyId', 403), s3Error('ExpiredToken', 400)],
])('S3 that answers $name for all objects ends the scan', async (refusal) => {
  const audit = memoryAuditStore()
  const app_id = `app_${randomUUID()}`
  audit.objects.set(sdkKey(app_id, '2026-06-10'), gzipSync(line(mark_ms, 'gone')))
  const away = { ...audit, replace: () => Promise.reject(refusal) }
  await expect(rewriteAudit(options(away, app_id, ['gone']))).rejects.toBe(refusal)
})

test('a store that is away ends the scan, and the next one does the rest', async () => {
  const audit = memoryAuditStore()
  const app_id = `app_${randomUUID()}`
  for (const n of [1, 2, 3]) audit.objects.set(sdkKey(app_id, '2026-06-10', n), gzipSync(line(mark_ms, 'gone')))
  let replaced = 0
  const away = {
    ...audit,
    async replace(key: string, previous: Buffer, content: Buffer) {
      replaced += 1
      if (replaced === 2) throw new Error('away')
      return audit.replace(key, previous, content)
    },
  }
  await expect(rewriteAudit(options(away, app_id, ['gone']))).rejects.toThrow('away')
  // What was rewritten since the mark is looked at again, for what a crash has left.
  replaced = 10
  expect(await rewriteAudit(options(away, app_id, ['gone']))).toMatchObject({ objects_read: 3, objects_rewritten: 1 })
  expect(replaced).toBe(13)
})

test('an object that another eraser rewrites meanwhile loses the events of both', async () => {
  const audit = memoryAuditStore()
  const app_id = `app_${randomUUID()}`
  const key = sdkKey(app_id, '2026-06-10')
  audit.objects.set(key, gzipSync(line(mark_ms, 'one', 'two', 'stays')))
  let first = true
  const beside = {
    ...audit,
    async replace(...call: Parameters<typeof audit.replace>) {
      if (first) {
        first = false
        await rewriteAudit(options(audit, app_id, ['two']))
      }
      return audit.replace(...call)
    },
  }
  expect(await rewriteAudit(options(beside, app_id, ['one']))).toMatchObject({ objects_rewritten: 1 })
  expect(gunzipSync(audit.objects.get(key)!).toString()).toBe(line(mark_ms, 'stays'))
})

test('memory does not grow with what an object inflates to', async () => {
  const audit = memoryAuditStore()
  const app_id = `app_${randomUUID()}`
  const padding = Buffer.alloc(4 * 1024 * 1024, ' ')
  const large = `${line(mark_ms, 'stays').slice(0, -3)}${padding}}}\n`
  const member = gzipSync(large, { level: 1 })
  const members = Array.from({ length: 60 }, () => member)
  audit.objects.set(sdkKey(app_id, '2026-06-10'), Buffer.concat([...members, gzipSync(line(mark_ms, 'gone'))]))
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().arrayBuffers)
  }, 5)
  const before = process.memoryUsage().arrayBuffers
  expect(await rewriteAudit(options(audit, app_id, ['gone']))).toMatchObject({ objects_rewritten: 1 })
  clearInterval(timer)
  // Half of it. Garbage counts until it is collected, which begins at some 64 MB.
  expect(most - before).toBeLessThan(120 * 1024 * 1024)
})

test('one scan takes out all installs that an app can ask for in a day', async () => {
  const audit = memoryAuditStore()
  audit.objects.set(sdkKey('app_1', '2026-06-10'), gzipSync(line(mark_ms, 'i-143999')))
  const ids = Array.from({ length: limits.erasures_max * 24 * 60 }, (_, n) => `i-${n}`)
  expect(await rewriteAudit(options(audit, 'app_1', ids))).toMatchObject({ objects_rewritten: 1 })
})

test('a scan ends when it is aborted', async () => {
  const audit = memoryAuditStore()
  const app_id = `app_${randomUUID()}`
  const content = gzipSync(line(mark_ms, 'gone'))
  audit.objects.set(sdkKey(app_id, '2026-06-10'), content)
  const signal = AbortSignal.abort(new Error('stopping'))
  await expect(rewriteAudit({ ...options(audit, app_id, ['gone']), signal })).rejects.toThrow('stopping')
  expect(audit.objects.get(sdkKey(app_id, '2026-06-10'))).toBe(content)
})
