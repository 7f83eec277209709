import { Readable } from 'node:stream'
import { peopleWorld } from '@tributary/admin-api/test/people-world'
import { reportsBeside } from '@tributary/admin-api/test/reports-beside'
import { limits } from '@tributary/contracts/limits'
import { openSessions } from '@tributary/tenancy/people/sessions/session-cache'
import { beforeEach, expect, test, vi } from 'vitest'

/** Statements that reached the engine; while they are held, a test ends them. */
let held: { app_id: string; end: () => void }[] | null = null
const clickhouse = {
  query: <Row>(_sql: string, params: Record<string, unknown> = {}) =>
    new Promise<Row[]>((resolve) => {
      if (held === null) resolve([])
      else held.push({ app_id: String(params.app_id), end: () => resolve([]) })
    }),
  stream: async () => Readable.from([]),
}
/** report-api knows sessions by itself, as it does in a process of its own. */
const world = peopleWorld({}, (deps) => async (app) => {
  const sessions = openSessions({ ...deps, elapsed: () => performance.now() })
  app.addHook('onClose', () => sessions.close())
  await app.register(reportsBeside({ ...deps, sessions }, clickhouse))
})
const { ask, newApp, signedIn } = world
const events = (app_id: string) => `/apps/${app_id}/reports/events?since_ms=0&until_ms=86400000`

beforeEach(() => {
  held = null
})

test('a session that ended reads nothing within a second', async () => {
  const { company_id, app_id } = await newApp()
  const analyst = await signedIn('analyst', company_id)
  expect(await analyst.ask('GET', events(app_id))).toMatchObject({ status: 200 })
  const cookies = new Map(analyst.cookies)
  await analyst.ask('POST', '/sign-out')
  cookies.forEach((value, name) => void analyst.cookies.set(name, value))
  const ended = { status: 401, body: { error: 'session_ended' } }
  await vi.waitFor(async () => expect(await analyst.ask('GET', events(app_id))).toMatchObject(ended), { timeout: 1000 })
})

test('a role that is limited to apps reads these alone', async () => {
  const { company_id, app_id } = await newApp()
  const { body: second } = await ask('POST', '/apps', { company_id, name: 'Second', platform: 'android' })
  const agency = await signedIn('analyst', company_id, { app_ids: [second.app_id] })
  const unknown = { status: 404, body: { error: 'unknown_app' } }
  expect(await agency.ask('GET', events(second.app_id))).toMatchObject({ status: 200 })
  expect(await agency.ask('GET', events(app_id))).toMatchObject(unknown)
  expect(await agency.ask('GET', `/apps/${app_id}/installs/i-1`)).toMatchObject(unknown)
})

test('a foreign app is unknown before anything is said of the report or its parameters', async () => {
  const [own, foreign] = [await newApp(), await newApp()]
  const analyst = await signedIn('analyst', own.company_id)
  for (const path of ['reports/nothing', 'reports/events?since=1', 'reports/events?limit=x', 'installs/i-1']) {
    const { body, status } = await analyst.ask('GET', `/apps/${foreign.app_id}/${path}`)
    expect([path, status, body.error]).toEqual([path, 404, 'unknown_app'])
  }
  expect((await analyst.ask('GET', `/apps/${own.app_id}/reports/nothing`)).body.error).toBe('unknown_report')
})

test('a person takes the turns of a key, and none of other people', async () => {
  const [loud, quiet] = [await newApp(), await newApp()]
  const [ada, bob] = [await signedIn('analyst', loud.company_id), await signedIn('analyst', quiet.company_id)]
  const statements: NonNullable<typeof held> = []
  held = statements
  const in_hand_max = limits.key_reports_running_max + limits.key_reports_waiting_max
  const flood = Array.from({ length: in_hand_max + 5 }, () => ada.ask('GET', events(loud.app_id)))
  const refused = await Promise.race(flood)
  expect(refused).toMatchObject({ status: 429, body: { error: 'rate_limited' } })
  const answer = bob.ask('GET', events(quiet.app_id))
  await vi.waitFor(() => expect(statements.filter(({ app_id }) => app_id === quiet.app_id)).toHaveLength(1), 60_000)
  expect(statements.filter(({ app_id }) => app_id === loud.app_id)).toHaveLength(limits.key_reports_running_max)
  held = null
  for (const { end } of statements) end()
  const [{ status }, ...others] = await Promise.all([answer, ...flood])
  expect(status).toBe(200)
  expect(others.filter((one) => one.status === 429)).toHaveLength(5)
})

test('the admin token reads the reports of every app, and of none that does not exist', async () => {
  const { app_id } = await newApp()
  expect(await ask('GET', events(app_id))).toMatchObject({ status: 200 })
  expect(await ask('GET', events('app_none'))).toMatchObject({ status: 404, body: { error: 'unknown_app' } })
  const authorization = 'Bearer of-somebody-else'
  expect(await ask('GET', events(app_id), undefined, { authorization })).toMatchObject({ status: 401 })
})
