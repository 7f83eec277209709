import { limits } from '@tributary/contracts/limits'
import { beforeAll, expect, test } from 'vitest'
import { type Browser, peopleWorld } from '../people/people-world.ts'

const { ask, clock, newApp, signedIn, auditOf } = peopleWorld()
let app: { company_id: string; app_id: string }
let analyst: Browser & { email: string }
let marketer: Browser & { email: string }

beforeAll(async () => {
  app = await newApp()
  analyst = await signedIn('analyst', app.company_id)
  marketer = await signedIn('marketer', app.company_id)
})
const path = (name: string) => `/apps/${app.app_id}/${name}`
const view = (change: object = {}) => ({ name: 'Spring', address: '/performance?country=DE', ...change })

test('a view that one person saves is there for everybody who may see the app, under its name once', async () => {
  const saved = { ...view(), saved_by: analyst.email, saved_at_ms: clock.now_ms }
  expect(await analyst.ask('PUT', path('views'), view())).toMatchObject({ status: 200, body: saved })
  expect((await marketer.ask('GET', path('views'))).body).toEqual({ views: [saved] })
  const address = '/performance?country=FR'
  expect((await marketer.ask('PUT', path('views'), view({ address }))).body.saved_by).toBe(marketer.email)
  expect((await analyst.ask('GET', path('views'))).body.views).toMatchObject([{ name: 'Spring', address }])
  expect(await auditOf(app.app_id)).toContainEqual(
    expect.objectContaining({ action: 'view.save', actor: marketer.email, detail: { name: 'Spring', address } }),
  )
  for (const status of [200, 200])
    expect(await analyst.ask('POST', path('views/remove'), { name: 'Spring' })).toMatchObject({ status })
  expect((await marketer.ask('GET', path('views'))).body).toEqual({ views: [] })
})

test.each([
  ...['//evil.example/x', 'https://evil.example', 'javascript:alert(1)', '/\\\\evil.example', '/performance#x'],
  ...['/over view', '', `/overview?x=${'x'.repeat(limits.view_address_chars_max)}`, '/../../login'],
  ...['/x/../../l/abc', '/x/%2e%2e/%2E%2E/l/abc', '/x/./y'],
])('no view leads out of the panel: %s', async (address) => {
  expect(await analyst.ask('PUT', path('views'), view({ address }))).toMatchObject({
    ...{ status: 400, body: { error: 'invalid_field' } },
  })
})

test('a note stands on its day until it is removed; a person who is removed leaves it without a name', async () => {
  const writer = await signedIn('analyst', app.company_id)
  const written = await writer.ask('POST', path('notes'), { day: '2026-05-20', text: ' Release 2.1 ' })
  const { note_id } = written.body
  const earlier = await marketer.ask('POST', path('notes'), { day: '2026-05-01', text: '<b>sale</b>' })
  await ask('POST', '/people/remove', { email: writer.email, company_id: app.company_id })
  expect((await analyst.ask('GET', path('notes'))).body.notes).toEqual([
    earlier.body,
    { note_id, day: '2026-05-20', text: 'Release 2.1', written_by: null, written_at_ms: clock.now_ms },
  ])
  await analyst.ask('POST', path('notes/remove'), { note_id })
  await ask('POST', path('notes/remove'), { note_id: earlier.body.note_id })
  expect((await analyst.ask('GET', path('notes'))).body).toEqual({ notes: [] })
  expect(await analyst.ask('POST', path('notes'), { day: '2026-02-30', text: 'x' })).toMatchObject({ status: 400 })
  expect(await analyst.ask('POST', path('notes'), { day: '0000-01-01', text: 'x' })).toMatchObject({ status: 400 })
})

test('who may not see the app sees and changes nothing of it, with the same answer as for an app that is not there', async () => {
  const elsewhere = await signedIn('owner', (await newApp()).company_id)
  for (const [method, name, body] of [
    ['GET', 'views', undefined],
    ['PUT', 'views', view()],
    ['POST', 'views/remove', { name: 'x' }],
    ['GET', 'notes', undefined],
    ['POST', 'notes', { day: '2026-05-01', text: 'x' }],
    ['POST', 'notes/remove', { note_id: 'x' }],
  ] as const)
    expect(await elsewhere.ask(method, path(name), body)).toMatchObject({ status: 404, body: { error: 'unknown_app' } })
})

test('an app holds so many views and no more, however many come at once', async () => {
  const full = await newApp()
  const put = (n: number) => ask('PUT', `/apps/${full.app_id}/views`, view({ name: `${n}` }))
  for (let n = 0; n < limits.app_views_max - 1; n += 1) expect(await put(n)).toMatchObject({ status: 200 })
  const statuses = (await Promise.all([1000, 1001, 1002].map(put))).map(({ status }) => status)
  expect(statuses.toSorted()).toEqual([200, 400, 400])
  expect(await put(0)).toMatchObject({ status: 200 })
})
