import { AuditEntry } from '@tributary/contracts/admin/people/audit-log'
import { expect, test } from 'vitest'
import { peopleWorld } from './people-world.ts'

const { ask, clock, inject, newApp, newCompany, signedIn } = peopleWorld()
const read = async (query: string) =>
  AuditEntry.strict()
    .array()
    .parse((await ask('GET', `/audit-log?${query}`)).body.entries)

test('tells who changed what, from where, and what was before', async () => {
  const { company_id, app_id } = await newApp()
  const admin = await signedIn('admin', company_id)
  const { person_id } = (await admin.ask('GET', '/me')).body
  const { link_id } = (await admin.ask('POST', '/links', { app_id, partner: 'acme' })).body
  await admin.ask('POST', `/links/${link_id}/disable`)
  await admin.ask('PATCH', `/apps/${app_id}`, { name: 'Renamed', click_window_hours: 48 })
  await admin.ask('PATCH', `/companies/${company_id}`, { keep_ip_days: 7 })
  const who = { actor: admin.email, person_id, ip: '127.0.0.1', company_id, at_ms: clock.now_ms }
  expect(await read(`actor=${admin.email}&company_id=${company_id}&limit=3`)).toMatchObject([
    { ...who, action: 'company.set', subject: company_id, before: { keep_ip_days: 30 }, after: { keep_ip_days: 7 } },
    {
      ...{ ...who, action: 'app.set', subject: app_id },
      ...{ before: { name: 'Game', click_window_hours: 168 }, after: { name: 'Renamed', click_window_hours: 48 } },
    },
    { ...who, action: 'link.disable', subject: link_id, before: { status: 'enabled' }, after: { status: 'disabled' } },
  ])
})

test('keeps an invitation, a changed role and a removal', async () => {
  const { company_id } = await newCompany()
  const { email } = await signedIn('analyst', company_id)
  await ask('POST', '/people/change', { email, role: 'admin', company_id })
  await ask('POST', '/people/remove', { email, company_id })
  const entries = await read(`company_id=${company_id}&action=person`)
  expect(entries.map(({ action, before, after }) => [action, before?.role, after.role])).toEqual([
    ['person.remove', 'admin', undefined],
    ['person.change', 'analyst', 'admin'],
    ['person.join', undefined, 'analyst'],
    ['person.invite', undefined, 'analyst'],
  ])
})

test('shows a company its own entries alone, those of the token too, and nothing of what is above companies', async () => {
  const [one, two] = [await newApp(), await newApp()]
  const owner = await signedIn('owner', one.company_id)
  const { entries } = (await owner.ask('GET', `/audit-log?company_id=${one.company_id}`)).body
  expect(entries.map(({ action }: AuditEntry) => action)).toEqual([
    'person.join',
    'person.invite',
    'app.create',
    'company.create',
  ])
  expect(JSON.stringify(entries)).not.toContain(two.company_id)
  expect(new Set(entries.map((entry: AuditEntry) => entry.company_id))).toEqual(new Set([one.company_id]))
  expect(await owner.ask('GET', '/audit-log')).toMatchObject({ status: 404 })
  expect(await owner.ask('GET', `/audit-log?company_id=${two.company_id}`)).toMatchObject({
    status: 404,
    body: { error: 'unknown_company' },
  })
})

test('is filtered, paged to its end, and the same as CSV, harmless for spreadsheets', async () => {
  const { company_id } = await newCompany()
  clock.now_ms += 1000
  const since_ms = clock.now_ms
  for (let n = 0; n < 5; n += 1)
    await ask('POST', '/apps', { company_id, name: n === 0 ? '=1+1' : `Game ${n}`, platform: 'ios' })
  clock.now_ms += 1000
  await ask('POST', `/companies/${company_id}/suspend`)
  const filter = `company_id=${company_id}&action=app&since_ms=${since_ms}&until_ms=${clock.now_ms}`
  const seen: number[] = []
  for (let before = ''; ; ) {
    const { body } = await ask('GET', `/audit-log?${filter}&limit=2${before}`)
    seen.push(...body.entries.map(({ id }: AuditEntry) => id))
    if (body.next_before_id === null) break
    before = `&before_id=${body.next_before_id}`
  }
  expect(seen).toHaveLength(5)
  expect(seen).toEqual(seen.toSorted((a, b) => b - a))
  const csv = await inject(`/audit-log?${filter}&format=csv`)
  expect(csv.headers['content-type']).toContain('text/csv')
  const [head, ...lines] = csv.payload.trimEnd().split('\r\n')
  expect(head).toBe('id,at_ms,actor,person_id,ip,action,subject,company_id,before,after,request_id')
  expect(lines.map((line) => Number(line.split(',')[0]))).toEqual(seen)
  expect(await read(`company_id=${company_id}&action=ap`)).toEqual([])
})
