import { Readable } from 'node:stream'
import { adminRoutes } from '@tributary/contracts/admin/admin-routes'
import { type Role, roles } from '@tributary/contracts/admin/people/roles'
import { foreignCode, pathOf, type Route } from '@tributary/contracts/route'
import { beforeAll, describe, expect, it, test } from 'vitest'
import { type Browser, newEmail, peopleWorld } from './people-world.ts'
import { reportsBeside } from './reports-beside.ts'

const clickhouse = { query: async () => [], stream: async () => Readable.from([]) } as never
const world = peopleWorld({ clickhouse }, (deps) => reportsBeside(deps, clickhouse))
const { ask, newApp, newKey, signedIn } = world
const declared = Object.entries<Route>(adminRoutes)
const guarded = declared.filter(([, { auth }]) => auth === 'admin')

interface Tenant {
  company_id: string
  app_id: string
  key_id: string
  link_id: string
}
let own: Tenant
let other: Tenant
const people = {} as Record<Role, Browser & { email: string }>

async function newTenant(): Promise<Tenant> {
  const { company_id, app_id } = await newApp()
  const { key_id } = await newKey(app_id)
  const { link_id } = (await ask('POST', '/links', { app_id, partner: 'acme' })).body
  return { company_id, app_id, key_id, link_id }
}

beforeAll(async () => {
  own = await newTenant()
  other = await newTenant()
  // Each role elsewhere is nothing here: whoever is tested against `own` is also the owner of nothing.
  for (const role of roles) people[role] = await signedIn(role, role === 'operator' ? undefined : own.company_id)
})

/** A request to a route about the things of a tenant; what it would change does no harm. */
function requestTo(route: Route, { company_id, app_id, key_id, link_id }: Tenant) {
  const ids = { company: company_id, app: app_id, key: key_id, link: link_id }
  const kind = route.over?.split(' ')[0] as keyof typeof ids | undefined
  const examples = Object.entries(route.query?.shape ?? {}).map(([name, field]) => [
    name,
    (field as { meta(): { example?: unknown } | undefined }).meta()?.example,
  ])
  const params = { id: kind === undefined ? 'none' : ids[kind], app_id, link_id, install_uuid: 'install-1' }
  const known = { company_id, app_id }
  const names = Object.keys(known) as (keyof typeof known)[]
  const query = Object.fromEntries([
    ...examples,
    ...names.filter((name) => route.query?.shape[name]).map((name) => [name, known[name]]),
  ])
  const example = Object.values(route.body?.examples ?? {})[0]
  const body =
    typeof example === 'object' && example !== null
      ? {
          ...example,
          ...Object.fromEntries(names.filter((name) => name in example).map((name) => [name, known[name]])),
        }
      : undefined
  return { path: pathOf(route, params, query).replace('/admin/api/v1', ''), body }
}

const send = (browser: Browser, route: Route, tenant: Tenant) => {
  const { path, body } = requestTo(route, tenant)
  return browser.ask(route.method, path, body ?? (route.method === 'GET' ? undefined : {}))
}

describe('every route', () => {
  it('of the admin API says who may call it', () => {
    expect(guarded.filter(([, { roles: named }]) => named === undefined).map(([id]) => id)).toEqual([])
    expect(declared.filter(([, { auth, roles: named }]) => auth !== 'admin' && named !== undefined)).toEqual([])
    expect(guarded.length).toBeGreaterThan(30)
  })

  const refused = guarded.flatMap(([id, route]) =>
    roles.filter((role) => !route.roles?.includes(role)).map((role) => [id, role, route] as const),
  )
  test.each(refused)('%s is refused to %s as if it were not there', async (_id, role, route) => {
    const { status, body } = await send(people[role], route, own)
    expect({ status, error: body.error }).toEqual({ status: 404, error: foreignCode(route) })
  })

  const company = guarded.filter(([, { over }]) => over !== undefined)
  const foreign = company.flatMap(([id, route]) =>
    roles
      .filter((role) => role !== 'operator' && route.roles?.includes(role))
      .map((role) => [id, role, route] as const),
  )
  test.each(foreign)('%s answers %s of another company like a thing that does not exist', async (_id, role, route) => {
    const none = { company_id: 'co_0', app_id: 'app_0', key_id: 'key_0', link_id: 'l0' }
    const { request_id: _a, ...ofForeign } = (await send(people[role], route, other)).body
    const { request_id: _b, ...ofNone } = (await send(people[role], route, none)).body
    expect(ofForeign).toEqual({ error: foreignCode(route) })
    expect(ofForeign).toEqual(ofNone)
  })

  test.each(guarded.filter(([, { method }]) => method === 'GET'))(
    '%s without a session or token is refused',
    async (_id, route) => {
      const answer = await world.openBrowser().ask('GET', requestTo(route, own).path)
      expect(answer).toMatchObject({ status: 401, body: { error: 'missing_bearer_token' } })
    },
  )
})

/** Routes whose example names something that is not there. */
const unread = [
  ...['getAuditObject', 'getErasure', 'getExpiring', 'exportInstall', 'listDeadLetters', 'getCvSchema'],
  'getAppInstall',
]
/** Reads of what is there, by the roles that may; the rest of the table is refused above. */
const allowed = guarded.flatMap(([id, route]) =>
  route.method === 'GET' && !unread.includes(id) ? (route.roles ?? []).map((role) => [id, role, route] as const) : [],
)
test.each(allowed)('%s is open to %s', async (_id, role, route) => {
  expect((await send(people[role], route, own)).status).toBe(200)
})

describe('people see', () => {
  test('the companies that they have a role in, and operators all', async () => {
    const seen = async (browser: Browser) =>
      (await browser.ask('GET', '/companies')).body.companies.map(({ company_id }: Tenant) => company_id)
    expect(await seen(people.analyst)).toEqual([own.company_id])
    expect(await seen(people.operator)).toEqual(expect.arrayContaining([own.company_id, other.company_id]))
  })

  test('of a company the apps that their role is limited to, and nothing of the others or of the whole', async () => {
    const { company_id, app_id } = own
    const second = (await ask('POST', '/apps', { company_id, name: 'Second', platform: 'android', bundle_id: 'com.a' }))
      .body
    const agency = await signedIn('marketer', company_id, { app_ids: [second.app_id] })
    const { apps } = (await agency.ask('GET', `/apps?company_id=${company_id}`)).body
    expect(apps.map((app: Tenant) => app.app_id)).toEqual([second.app_id])
    const link = (of: string) => agency.ask('POST', '/links', { app_id: of, partner: 'agency' })
    expect(await link(second.app_id)).toMatchObject({ status: 200 })
    expect(await link(app_id)).toMatchObject({ status: 404, body: { error: 'unknown_app' } })
    expect(await agency.ask('POST', `/links/${own.link_id}/disable`)).toMatchObject({
      status: 404,
      body: { error: 'unknown_link' },
    })
    expect(await agency.ask('GET', `/companies/${company_id}`)).toMatchObject({ status: 200 })
    expect(await agency.ask('GET', `/companies/${company_id}/usage`)).toMatchObject({ status: 404 })
    const admin = await signedIn('admin', company_id, { app_ids: [second.app_id] })
    expect(await admin.ask('POST', '/apps', { company_id, name: 'T', platform: 'ios' })).toMatchObject({ status: 404 })
    expect(await admin.ask('GET', `/audit-log?company_id=${company_id}`)).toMatchObject({ status: 404 })
  })
})

describe('a field of a company', () => {
  const set = (browser: Browser, body: object) => browser.ask('PATCH', `/companies/${own.company_id}`, body)
  test('is changed by its roles alone', async () => {
    expect(await set(people.owner, { plan: 'unlimited' })).toMatchObject({
      status: 404,
      body: { error: 'unknown_company' },
    })
    expect(await set(people.admin, { monthly_quota: 5 })).toMatchObject({ status: 404 })
    expect(await set(people.operator, { keep_ip_days: 5 })).toMatchObject({ status: 404 })
    expect(await set(people.owner, { keep_ip_days: 7 })).toMatchObject({ status: 200, body: { keep_ip_days: 7 } })
    expect(await set(people.operator, { plan: 'growth' })).toMatchObject({ status: 200, body: { plan: 'growth' } })
  })
})

describe('people', () => {
  test('are invited by owners to their company alone', async () => {
    const { company_id } = own
    const invite = (body: object) => people.owner.ask('POST', '/people/invite', { email: newEmail(), ...body })
    expect(await invite({ role: 'admin', company_id })).toMatchObject({ status: 200 })
    expect(await invite({ role: 'admin', company_id: other.company_id })).toMatchObject({ status: 404 })
    expect(await invite({ role: 'operator' })).toMatchObject({ status: 404 })
    expect(await invite({ role: 'operator', company_id })).toMatchObject({ status: 400, body: { field: 'company_id' } })
    expect(await invite({ role: 'owner', company_id, app_ids: [own.app_id] })).toMatchObject({
      status: 400,
      body: { field: 'app_ids' },
    })
    expect(await invite({ role: 'analyst', company_id, app_ids: [other.app_id] })).toMatchObject({
      status: 404,
      body: { error: 'unknown_app' },
    })
    expect(await people.operator.ask('POST', '/people/invite', { email: newEmail(), role: 'admin' })).toMatchObject({
      status: 400,
    })
  })

  test('are listed with their roles, and open invitations with them', async () => {
    const { company_id } = await world.newCompany()
    const owner = await signedIn('owner', company_id)
    const { email } = await world.invite('analyst', company_id)
    const listed = (await owner.ask('GET', `/people?company_id=${company_id}`)).body.people
    const shown = listed.map((one: Record<string, unknown>) => [one.email, one.role, one.status])
    expect(shown.toSorted()).toEqual(
      [
        [owner.email, 'owner', 'active'],
        [email, 'analyst', 'invited'],
      ].toSorted(),
    )
    expect(JSON.stringify(listed)).not.toContain('argon2')
  })

  test('keep the last owner and the last operator', async () => {
    const { company_id } = await world.newCompany()
    const owner = await signedIn('owner', company_id)
    const { email } = owner
    const last = { status: 409, body: { error: 'last_of_role' } }
    const change = (body: object) => ask('POST', '/people/change', { email, company_id, ...body })
    expect(await change({ role: 'admin' })).toMatchObject(last)
    expect(await ask('POST', '/people/remove', { email, company_id })).toMatchObject(last)
    const { token } = await world.invite('analyst', company_id, { email })
    expect(await owner.ask('POST', '/invitations/accept', { token })).toMatchObject(last)
    const second = await signedIn('owner', company_id)
    const removed = await Promise.all([
      second.ask('POST', '/people/remove', { email, company_id }),
      owner.ask('POST', '/people/remove', { email: second.email, company_id }),
    ])
    expect(removed.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(
      (await ask('GET', `/people?company_id=${company_id}`)).body.people.filter(
        ({ role }: { role: string }) => role === 'owner',
      ),
    ).toHaveLength(1)
    expect(await ask('POST', '/people/remove', { email: people.operator.email })).toMatchObject(last)
  })

  test('without any role are deleted', async () => {
    const { email } = await signedIn('analyst', own.company_id)
    expect(await ask('POST', '/people/remove', { email, company_id: own.company_id })).toMatchObject({
      body: { email, status: 'removed' },
    })
    expect(await world.query('SELECT 1 FROM people WHERE email = $1', [email])).toEqual([])
    expect(await ask('POST', '/people/remove', { email, company_id: own.company_id })).toMatchObject({
      status: 404,
      body: { error: 'unknown_person' },
    })
  })

  test('do not accept an invitation that was taken back', async () => {
    const { email, token } = await world.invite('analyst', own.company_id)
    await ask('POST', '/people/remove', { email, company_id: own.company_id })
    const accepted = await world
      .openBrowser()
      .ask('POST', '/invitations/accept', { token, password: 'a long enough password' })
    expect(accepted).toMatchObject({ status: 404 })
  })
})
