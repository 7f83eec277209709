import { hash, randomUUID } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { rewrittenMember } from '@tributary/erasure/audit/rewritten-mark'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { describe, expect, test } from 'vitest'
import { adminApiUnderTest } from '../admin-api-under-test.ts'
import { authorization as adminAuthorization } from '../admin-app.ts'

const audit = memoryAuditStore()
let lookups: string[] = []
const reads = {
  async get(key: string) {
    lookups.push(key)
    if (audit.fault) throw audit.fault
    return audit.get(key)
  },
  list: audit.list,
  putOnce: audit.putOnce,
}
const { inject, query } = adminApiUnderTest({ audit: reads })

function show(asked: Record<string, string>, authorization = adminAuthorization) {
  lookups = []
  return inject(`/audit-objects?${new URLSearchParams(asked)}`, { headers: { authorization } })
}
const sdkKey = (app_id: string) => `audit/2026/06/01/co_1/${app_id}/1780000000000-1a2b3c4d-7.jsonl.gz`
const seenOf = (app_id: string) =>
  query('SELECT action, detail, actor, request_id FROM admin_audit_log WHERE subject = $1', [app_id])

test('an object of /event comes as its lines, compressed as it is stored', async () => {
  const app_id = `app_${randomUUID()}`
  const stored = Buffer.concat([gzipSync('{"n":1}\n'), gzipSync('{"n":2}\n')])
  await audit.putOnce(sdkKey(app_id), stored)
  const answer = await show({ key: sdkKey(app_id) })
  expect(answer.statusCode).toBe(200)
  expect(answer.headers).toMatchObject({ 'content-encoding': 'gzip', 'cache-control': 'no-store' })
  expect(answer.headers['content-type']).toMatch(/^application\/x-ndjson/)
  expect(gunzipSync(answer.rawPayload).toString()).toBe('{"n":1}\n{"n":2}\n')
  expect((await show({ key: sdkKey(app_id), app_id })).statusCode).toBe(200)
})

test.each([
  's2s/2026-06-01/order-7%2F-%7E.json',
  's2s/2026-06-01/order-7~0a1b2c3d.json',
  "s2s/2026-06-01/!'()*.json",
  `s2s/2026-06-01/${'%7E'.repeat(128)}.json`,
  's2s/bulk/2026-06-01/01977c00-0000-7000-8000-000000000000.json',
  'privacy/2026-06-01/i-1~1780000000000.json',
])('%s comes as it is, from under the prefix of its app alone', async (key) => {
  const [app_id, other] = [`app_${randomUUID()}`, `app_${randomUUID()}`]
  await audit.putOnce(`${app_id}/${key}`, Buffer.from('{"body":{}}'))
  const answer = await show({ key, app_id })
  expect([answer.statusCode, answer.body]).toEqual([200, '{"body":{}}'])
  expect(answer.headers['content-encoding']).toBeUndefined()
  expect((await show({ key, app_id: other })).json().error).toBe('unknown_audit_key')
  expect((await show({ key })).json()).toMatchObject({ error: 'invalid_field', field: 'app_id' })
})

test('an object that was rewritten says when, whatever its form; another one says nothing', async () => {
  const app_id = `app_${randomUUID()}`
  const [line, document] = ['{"n":1}\n', '{"rewritten_at_ms":1780000000123,"body":null}']
  await audit.putOnce(sdkKey(app_id), Buffer.concat([rewrittenMember(1_780_000_000_123), gzipSync(line)]))
  await audit.putOnce(`${app_id}/s2s/2026-06-01/a.json`, Buffer.from(document))
  const lines = await show({ key: sdkKey(app_id) })
  expect([lines.headers['x-rewritten-at-ms'], gunzipSync(lines.rawPayload).toString()]).toEqual(['1780000000123', line])
  const single = await show({ key: 's2s/2026-06-01/a.json', app_id })
  expect([single.headers['x-rewritten-at-ms'], single.body]).toEqual(['1780000000123', document])
  await audit.putOnce(`${app_id}/s2s/2026-06-01/b.json`, Buffer.from('{"body":{"rewritten_at_ms":1}}'))
  expect((await show({ key: 's2s/2026-06-01/b.json', app_id })).headers['x-rewritten-at-ms']).toBeUndefined()
})

test('who looked at what is in the audit log of the admin API; who found nothing is not', async () => {
  const app_id = `app_${randomUUID()}`
  expect((await show({ key: sdkKey(app_id) })).statusCode).toBe(404)
  expect(await seenOf(app_id)).toEqual([])
  await audit.putOnce(sdkKey(app_id), gzipSync('{}\n'))
  const answer = await show({ key: sdkKey(app_id) })
  const request_id = answer.headers['x-request-id']
  const actor = 'admin-token@127.0.0.1'
  expect(await seenOf(app_id)).toEqual([
    { action: 'audit_object.read', detail: { key: sdkKey(app_id) }, actor, request_id },
  ])
})

test.each([
  ['s2s/2026-06-01/renewal-i-1.json', 's2s/2026-06-01/'],
  ['privacy/2026-06-01/i-1~1780000000000.json', 'privacy/2026-06-01/'],
])(
  'the look at %s is in the audit log without the id in its name, which no erasure could take from there',
  async (key, folder) => {
    const app_id = `app_${randomUUID()}`
    await audit.putOnce(`${app_id}/${key}`, Buffer.from('{"body":{}}'))
    await show({ key, app_id })
    expect(await seenOf(app_id)).toMatchObject([
      { action: 'audit_object.read', detail: { folder, key_sha256: hash('sha256', `${app_id}/${key}`) } },
    ])
    expect(JSON.stringify(await seenOf(app_id))).not.toContain('i-1')
  },
)

describe('refuses', () => {
  test.each([
    '',
    'audit/2026/06/01/co_1/app_1/../../../../../etc/passwd',
    'audit/2026/06/01/co_1/app_1/1-a-1.jsonl.gz/..',
    'audit/2026/06/01/co_1/../1-a-1.jsonl.gz',
    'audit/2026/06/01/co_1/app_1/1-a-1.jsonl',
    '/audit/2026/06/01/co_1/app_1/1-a-1.jsonl.gz',
    'app_1/s2s/2026-06-01/a.json',
    's2s/2026-06-01/a/b.json',
    's2s/2026-06-01/../x.json',
    's2s/2026-06-01/%2f.json',
    's2s/2026-06-01/a%.json',
    's2s/2026-06-01/.json',
    's2s/2026-06-01/a\0.json',
    's2s/2026-06-01/a.json\n',
    's2s/2026-06-01/é.json',
    `s2s/2026-06-01/${'a'.repeat(385)}.json`,
    's2s/bulk/2026-06-01/x.json',
    'privacy/2026-06-01/i-1.json',
    'privacy/2026-06-01/a/b~1.json',
    '__proto__',
  ])('what is no audit key, before the store is asked: %j', async (key) => {
    const answer = await show({ key, app_id: 'app_1' })
    expect([answer.statusCode, answer.json()]).toMatchObject([400, { error: 'invalid_field', field: 'key' }])
    expect(lookups).toEqual([])
  })

  test.each(['', '..', 'a/b', 'a'.repeat(65)])('what is no app: %j', async (app_id) => {
    const answer = await show({ key: 's2s/2026-06-01/a.json', app_id })
    expect([answer.statusCode, answer.json()]).toMatchObject([400, { error: 'invalid_field', field: 'app_id' }])
    expect(lookups).toEqual([])
  })

  test('keys given twice, or not at all', async () => {
    for (const asked of ['', 'key=a&key=b']) {
      const answer = await inject(`/audit-objects?${asked}`)
      expect([answer.statusCode, answer.json().field]).toEqual([400, 'key'])
    }
  })

  test('the key of one app with the id of another', async () => {
    const app_id = `app_${randomUUID()}`
    await audit.putOnce(sdkKey(app_id), gzipSync('{}\n'))
    const answer = await show({ key: sdkKey(app_id), app_id: 'app_1' })
    expect([answer.statusCode, answer.json().error]).toEqual([404, 'unknown_audit_key'])
  })

  test('without the admin token', async () => {
    expect((await show({ key: sdkKey('app_1') }, 'Bearer other')).json().error).toBe('invalid_admin_token')
  })

  test('while the audit store is away, with 503', async () => {
    audit.fault = new Error('bucket gone at /secret')
    const answer = await show({ key: sdkKey('app_1') })
    audit.fault = null
    expect([answer.statusCode, answer.json().error, answer.headers['retry-after']]).toEqual([503, 'unavailable', '5'])
    expect(answer.body).not.toContain('secret')
  })
})
