import { randomUUID } from 'node:crypto'
import { ErasureRequest } from '@tributary/contracts/erasure'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { afterEach, expect, test } from 'vitest'
import { adminApiUnderTest } from '../admin-api-under-test.ts'

const now_ms = Date.UTC(2026, 5, 1, 12)
const audit = memoryAuditStore()
const { ask, inject, query, newApp } = adminApiUnderTest({ audit, now: () => now_ms })
afterEach(() => {
  audit.fault = null
})

const stateOf = async (app_id: string, install_uuid: string) =>
  (await ask('GET', `/erasures?app_id=${app_id}&install_uuid=${install_uuid}`)).body

test('a request is proven by an audit object, also when PostgreSQL is put back to before it', async () => {
  const { app_id, company_id } = await newApp()
  const install_uuid = randomUUID()
  expect((await ask('POST', '/erasures', { app_id, install_uuid })).status).toBe(200)
  expect(await stateOf(app_id, install_uuid)).toMatchObject({ state: 'queued' })
  const key = `privacy/2026-06-01/${install_uuid}~${now_ms}.json`
  const shown = await inject(`/audit-objects?key=${encodeURIComponent(key)}&app_id=${app_id}`)
  const proof = { v: 1, company_id, app_id, install_uuid, requested_at_ms: now_ms }
  expect(shown.json()).toEqual(proof)
  // Requests of apps have the same form.
  expect(ErasureRequest.omit({ audit_key: true }).strict().parse(shown.json())).toEqual(proof)
})

test('what has no proof is not queued, and what no app asked for has none', async () => {
  const { app_id } = await newApp()
  const before = audit.objects.size
  audit.fault = new Error('away')
  const refused = await ask('POST', '/erasures', { app_id, install_uuid: 'a' })
  expect([refused.status, refused.body.error]).toEqual([503, 'unavailable'])
  expect((await stateOf(app_id, 'a')).error).toBe('unknown_erasure')
  audit.fault = null
  expect((await ask('POST', '/erasures', { app_id: 'none', install_uuid: 'a' })).body.error).toBe('unknown_app')
  expect(audit.objects.size).toBe(before)
})

test('a request for an install whose salt is unreadable says so, and is not queued', async () => {
  const { app_id, company_id } = await newApp()
  await ask('POST', '/erasures', { app_id, install_uuid: 'a' })
  await query(`UPDATE company_salts SET key_id = 'v2:lost' WHERE company_id = $1`, [company_id])
  const refused = await ask('POST', '/erasures', { app_id, install_uuid: 'b' })
  expect([refused.status, refused.body.error]).toEqual([503, 'unavailable'])
  expect(refused.body.message).toContain('salt')
  expect(await query('SELECT install_uuid FROM erasure_requests WHERE app_id = $1', [app_id])).toEqual([
    { install_uuid: 'a' },
  ])
})

test('an id that no install can have is refused in words', async () => {
  const { app_id } = await newApp()
  const message = 'It must be 1 to 64 letters, digits, - or _.'
  const refused = { status: 400, body: { error: 'invalid_field', field: 'install_uuid', message } }
  expect(await ask('POST', '/erasures', { app_id, install_uuid: 'an id' })).toMatchObject(refused)
  expect(await ask('GET', `/erasures?app_id=${app_id}&install_uuid=an%20id`)).toMatchObject(refused)
  expect(await ask('GET', `/installs/an%20id/export?app_id=${app_id}`)).toMatchObject(refused)
})
