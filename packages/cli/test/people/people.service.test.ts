import { expect, it } from 'vitest'
import { sent, service } from '../commands/fake-admin-api.ts'
import type { Received } from '../fake-service.ts'
import { tributary } from '../run-tributary.ts'

const invited = { invitation_url: 'http://127.0.0.1:8080/admin/invitation#inv_1', expires_at_ms: 86_400_000 }
const reset = { reset_url: 'http://127.0.0.1:8080/admin/reset#rst_1', expires_at_ms: 86_400_000 }
const person = {
  ...{ person_id: 'per_1', email: 'ada@example.com', status: 'active', role: 'analyst', company_id: 'co_1' },
  ...{ apps: ['app_1'], second_factor: true, last_seen_at_ms: null, created_at_ms: 5 },
}
const entry = {
  ...{ id: 7, at_ms: 1000, actor: 'ada@example.com', person_id: 'per_1', ip: '192.0.2.7', action: 'link.disable' },
  ...{
    subject: 'link_1',
    company_id: 'co_1',
    before: { status: 'enabled' },
    after: { status: 'disabled' },
    request_id: 'r',
  },
}
const log = { entries: [entry], next_before_id: null }

it('prints with --json exactly the answers about people', async () => {
  const requested: unknown[] = []
  const take = (body: unknown) => (request: Received) => {
    requested.push(sent(request))
    return { status: 200, body }
  }
  const env = await service({
    'POST /admin/api/v1/people/invite': take(invited),
    'POST /admin/api/v1/people/change': take({ email: 'ada@example.com', status: 'changed' }),
    'POST /admin/api/v1/people/remove': take({ email: 'ada@example.com', status: 'removed' }),
    'POST /admin/api/v1/people/reset': take(reset),
    'GET /admin/api/v1/people': () => ({ status: 200, body: { people: [] } }),
    'GET /admin/api/v1/people?company_id=co_1': () => ({ status: 200, body: { people: [person] } }),
  })
  const answers: unknown[] = []
  for (const words of [
    'admin invite --email ada@example.com --role analyst --company co_1 --app app_1 --app app_2',
    'admin invite --email ada@example.com --role operator',
    'admin list',
    'admin list --company co_1',
    'admin change --email ada@example.com --role admin --company co_1',
    'admin remove ada@example.com --company co_1',
    'admin remove ada@example.com',
    'admin reset ada@example.com --second-factor',
  ]) {
    const { stdout, code, stderr } = await tributary([...words.split(' '), '--json'], env)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    answers.push(JSON.parse(stdout))
  }
  const removed = { email: 'ada@example.com', status: 'removed' }
  expect(answers).toEqual([
    ...[invited, invited, { people: [] }, { people: [person] }, { email: 'ada@example.com', status: 'changed' }],
    ...[removed, removed, reset],
  ])
  const email = 'ada@example.com'
  expect(requested).toEqual([
    { email, role: 'analyst', company_id: 'co_1', app_ids: ['app_1', 'app_2'] },
    { email, role: 'operator' },
    { email, role: 'admin', company_id: 'co_1' },
    { email, company_id: 'co_1' },
    { email },
    { email, second_factor: true },
  ])
})

it('refuses a role that there is not, before it asks the service', async () => {
  const { code, stderr } = await tributary('admin invite --email a@b.c --role boss --json'.split(' '))
  expect({ code, error: JSON.parse(stderr).error }).toEqual({ code: 2, error: 'usage' })
})

it('shows the audit log as JSON, as a table and as CSV', async () => {
  const filter = 'company_id=co_1&since_ms=1767225600000&actor=ada%40example.com&action=link&limit=5'
  const env = await service({
    [`GET /admin/api/v1/audit-log?${filter}`]: () => ({ status: 200, body: log }),
    'GET /admin/api/v1/audit-log?limit=100': () => ({ status: 200, body: log }),
  })
  const words = 'audit-log --company co_1 --since 2026-01-01 --actor ada@example.com --action link --limit 5'.split(' ')
  expect(JSON.parse((await tributary([...words, '--json'], env)).stdout)).toEqual(log)
  const { stdout } = await tributary(['audit-log'], env)
  expect(stdout).toContain(
    'ada@example.com\t192.0.2.7\tlink.disable\tlink_1\t{"status":"enabled"}\t{"status":"disabled"}',
  )
})

it('says that a link was mailed where no answer shows it', async () => {
  const mailed = { ...invited, invitation_url: null }
  const env = await service({ 'POST /admin/api/v1/people/invite': () => ({ status: 200, body: mailed }) })
  const { stdout } = await tributary('admin invite --email ada@example.com --role operator'.split(' '), env)
  expect(stdout).toContain('The link was mailed. It works once, until 1970-01-02T00:00:00.000Z.')
})
