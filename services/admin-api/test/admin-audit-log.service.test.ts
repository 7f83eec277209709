import { pino } from 'pino'
import { expect, test } from 'vitest'
import { adminApiUnderTest } from './admin-api-under-test.ts'
import { admin_token } from './admin-app.ts'

const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
let logged = ''
const write = (line: string) => {
  logged += line
}
const logger = pino({ level: 'trace' }, { write })
const { ask, query, newCompany, newApp, newKey, auditOf } = adminApiUnderTest({ now: () => now, logger })

test('every change tells who, when and by which request', async () => {
  const { body } = await ask('POST', '/companies', { name: 'Traced' }, { 'x-request-id': 'request-of-mine' })
  const [entry] = await auditOf(body.company_id)
  expect(entry).toMatchObject({
    action: 'company.create',
    request_id: 'request-of-mine',
    actor: 'admin-token@127.0.0.1',
    detail: { name: 'Traced', plan: 'free', monthly_quota: 1_000_000 },
  })
  expect(entry.at.getTime()).toBe(now)
})

test('a run of the eraser is told once, by whoever asked for it', async () => {
  const asked = ask('POST', '/erasures/run', {})
  // No eraser is here.
  const end = () => query('UPDATE erasure_runs SET ended_at_ms = 1 WHERE ended_at_ms IS NULL RETURNING run')
  await expect.poll(async () => (await end()).length).toBe(1)
  const { run } = (await asked).body
  await ask('POST', '/erasures/run', { run })
  expect(await auditOf(`${run}`)).toMatchObject([{ action: 'erasure.run', actor: 'admin-token@127.0.0.1' }])
})

test('the audit log refuses to be changed', async () => {
  const { company_id } = await newCompany()
  for (const text of [
    `UPDATE admin_audit_log SET actor = 'nobody' WHERE subject = '${company_id}'`,
    `DELETE FROM admin_audit_log WHERE subject = '${company_id}'`,
    'TRUNCATE admin_audit_log',
  ]) {
    await expect(query(text)).rejects.toThrow('is refused')
  }
  expect(await auditOf(company_id)).toHaveLength(1)
})

test('no secret is in a log line, in the audit log or in any table', async () => {
  const { app_id, signing_secret } = await newApp()
  const { key } = await newKey(app_id)
  const rotated = (await ask('POST', `/apps/${app_id}/rotate-secret`, {})).body
  let stored = ''
  for (const table of ['companies', 'apps', 'old_signing_secrets', 'server_keys', 'admin_audit_log']) {
    const rows = await query(`SELECT t::text AS row FROM ${table} t`)
    stored += rows.map(({ row }) => row).join('\n')
  }
  for (const secret of [signing_secret, rotated.signing_secret, key, key.slice(4), admin_token]) {
    expect(logged).not.toContain(secret)
    expect(stored).not.toContain(secret)
    expect(stored).not.toContain(Buffer.from(secret).toString('hex'))
  }
  expect(logged).toContain('admin request')
})
