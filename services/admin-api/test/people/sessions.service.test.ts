import { day_ms, hour_ms, limits } from '@tributary/contracts/limits'
import { removeExpired } from '@tributary/tenancy/people/remove-expired'
import { openSessions } from '@tributary/tenancy/people/sessions/session-cache'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { authorization } from '../admin-app.ts'
import { password, peopleWorld } from './people-world.ts'

const { pool, clock, query, ask, newApp, newCompany, openBrowser, signedIn } = peopleWorld()
const ended = { status: 401, body: { error: 'session_ended' } }
const name = 'tributary_8080'

/** What another process knows of sessions. */
function otherProcess() {
  let elapsed_ms = 0
  const logger = pino({ level: 'silent' })
  const sessions = openSessions({ pool: pool(), now: () => clock.now_ms, elapsed: () => elapsed_ms, logger })
  onTestFinished(() => sessions.close())
  const pass = (ms: number) => {
    elapsed_ms += ms
  }
  return { ...sessions, pass }
}

describe('a session', () => {
  test('ends after 12 hours without a request, and lasts while it is used', async () => {
    const browser = await signedIn('operator')
    for (let hours = 0; hours < 44; hours += 11) {
      clock.now_ms += 11 * hour_ms
      await browser.ask('GET', '/me')
      expect(await browser.ask('GET', '/me')).toMatchObject({ status: 200 })
    }
    clock.now_ms += 12 * hour_ms
    expect(await browser.ask('GET', '/me')).toMatchObject(ended)
  })

  test('ends after 30 days, however much it is used', async () => {
    const browser = await signedIn('operator')
    for (let hours = 0; hours < 30 * 24 - 10; hours += 10) {
      clock.now_ms += 10 * hour_ms
      await expect.poll(async () => (await browser.ask('GET', '/me')).status).toBe(200)
    }
    clock.now_ms += 10 * hour_ms
    expect(await browser.ask('GET', '/me')).toMatchObject(ended)
  })

  test('ends with its sign-out, and its cookie with it', async () => {
    const browser = await signedIn('operator')
    const token = browser.cookies.get(name)!
    const { cookies } = await browser.ask('POST', '/sign-out')
    expect(cookies[0]).toContain(`${name}=; Max-Age=0;`)
    browser.cookies.set(name, token)
    expect(await browser.ask('GET', '/me')).toMatchObject(ended)
  })

  test('that is revoked ends in every process: by notification, and without it within half a second', async () => {
    const browser = await signedIn('operator')
    const token = browser.cookies.get(name)!
    const process = otherProcess()
    expect(await process.find(token)).toMatchObject({ email: browser.email })
    const { sessions } = (await browser.ask('GET', '/me/sessions')).body
    await query('ALTER TABLE sessions DISABLE TRIGGER sessions_changed') // as if no notification arrived
    expect(await browser.ask('POST', `/me/sessions/${sessions[0].session_id}/revoke`)).toMatchObject({ status: 200 })
    await query('ALTER TABLE sessions ENABLE TRIGGER sessions_changed')
    process.pass(limits.session_cache_ms_max)
    expect(await process.find(token)).toBeNull()

    const other = await signedIn('operator')
    const heard = otherProcess()
    expect(await heard.find(other.cookies.get(name)!)).not.toBeNull()
    await ask('POST', '/people/remove', { email: other.email })
    await expect.poll(() => heard.find(other.cookies.get(name)!)).toBeNull() // its clock stands still
  })

  test('of another person is nobody else’s to list or revoke', async () => {
    const [ada, bob] = [await signedIn('operator'), await signedIn('operator')]
    const { sessions } = (await ada.ask('GET', '/me/sessions')).body
    expect(sessions).toMatchObject([{ current: true, ip: '127.0.0.1' }])
    const id = sessions[0].session_id
    expect(await bob.ask('POST', `/me/sessions/${id}/revoke`)).toMatchObject({
      status: 404,
      body: { error: 'unknown_session' },
    })
    expect(await ada.ask('GET', '/me')).toMatchObject({ status: 200 })
  })

  test('has the roles of now: a role that was taken away is gone within a second', async () => {
    const { company_id } = await newCompany()
    await signedIn('owner', company_id)
    const browser = await signedIn('owner', company_id)
    expect(await browser.ask('GET', `/companies/${company_id}`)).toMatchObject({ status: 200 })
    await ask('POST', '/people/change', { email: browser.email, role: 'analyst', company_id })
    await expect.poll(async () => (await browser.ask('GET', `/people?company_id=${company_id}`)).status).toBe(404)
    await ask('POST', '/people/remove', { email: browser.email, company_id })
    await expect.poll(async () => (await browser.ask('GET', '/me')).status).toBe(401)
  })

  test('ends with a new password, but the one that set it', async () => {
    const browser = await signedIn('operator')
    const second = openBrowser()
    await second.signIn(browser.email)
    const change = (given: string) =>
      browser.ask('POST', '/me/password', { password: given, new_password: 'a password after the first one' })
    expect(await change('wrong')).toMatchObject({ status: 401, body: { error: 'sign_in_failed' } })
    expect(await change(password)).toMatchObject({ status: 200 })
    await expect.poll(async () => (await second.ask('GET', '/me')).status).toBe(401)
    expect(await browser.ask('GET', '/me')).toMatchObject({ status: 200 })
    expect(await openBrowser().signIn(browser.email)).toMatchObject({ status: 401 })
  })

  test('is refused 503 while PostgreSQL is away', async () => {
    const broken = { query: () => Promise.reject(new Error('timeout')), options: {} } as never
    const sessions = openSessions({ pool: broken, now: Date.now, elapsed: () => 0, logger: pino({ level: 'silent' }) })
    onTestFinished(() => sessions.close())
    await expect(sessions.find('ses_x')).rejects.toMatchObject({ code: 'unavailable', status: 503 })
  })

  test('is read from PostgreSQL once, however often it is used within half a second', async () => {
    const browser = await signedIn('operator')
    const asked = vi.spyOn(pool(), 'query')
    onTestFinished(() => asked.mockRestore())
    const process = otherProcess()
    for (let n = 0; n < 100; n += 1) await process.find(browser.cookies.get(name)!)
    expect(asked.mock.calls.filter(([sql]) => /FROM sessions/.test(String(sql)))).toHaveLength(1)
  })
})

describe('minting keys', () => {
  test('asks for the password again after 15 minutes', async () => {
    const { app_id, company_id } = await newApp()
    const browser = await signedIn('admin', company_id)
    const mint = () => browser.ask('POST', '/keys', { app_id, label: 'billing' })
    expect(await mint()).toMatchObject({ status: 200 })
    clock.now_ms += limits.session_fresh_ms
    expect(await mint()).toMatchObject({ status: 403, body: { error: 'password_needed' } })
    expect(await browser.ask('POST', `/apps/${app_id}/rotate-secret`, {})).toMatchObject({ status: 403 })
    expect(await browser.ask('PUT', `/apps/${app_id}/store-credentials`, {})).toMatchObject({ status: 403 })
    expect(await browser.ask('POST', '/me/confirm', { password: 'wrong' })).toMatchObject({ status: 401 })
    expect(await mint()).toMatchObject({ status: 403 })
    await browser.ask('POST', '/me/confirm', { password })
    expect(await mint()).toMatchObject({ status: 200 })
  })

  test('asks for the password that was given by a clock that was ahead', async () => {
    const { app_id, company_id } = await newApp()
    const mint = () => browser.ask('POST', '/keys', { app_id, label: 'billing' })
    clock.now_ms += day_ms
    const browser = await signedIn('admin', company_id)
    clock.now_ms -= day_ms
    expect(await mint()).toMatchObject({ status: 403, body: { error: 'password_needed' } })
    await browser.ask('POST', '/me/confirm', { password })
    expect(await mint()).toMatchObject({ status: 200 })
    await browser.ask('POST', '/sign-out') // a session of the future is not deleted for its age
  })
})

describe('a change', () => {
  const change = { name: 'Forged', plan: 'free' }

  test.each<[what: string, headers: Record<string, string | undefined>]>([
    ['from a page of another site', { origin: 'https://evil.example' }],
    ['from a page at another port', { origin: 'http://127.0.0.1:3000' }],
    ['from a page over https', { origin: 'https://127.0.0.1:8080' }],
    ['without an Origin', { origin: undefined }],
    ['from a sandboxed page', { origin: 'null' }],
    ['without the CSRF token', { 'x-csrf-token': undefined }],
    ['with another CSRF token', { 'x-csrf-token': 'x'.repeat(43) }],
  ])('%s is refused', async (_what, headers) => {
    const browser = await signedIn('operator')
    const forged = { status: 403, body: { error: 'forged_request' } }
    const given = { headers: headers as Record<string, string> }
    expect(await browser.ask('POST', '/companies', change, given)).toMatchObject(forged)
    expect(await browser.ask('POST', '/companies', change)).toMatchObject({ status: 200 })
  })

  test('with the CSRF token of another session is refused', async () => {
    const [ada, bob] = [await signedIn('operator'), await signedIn('operator')]
    const headers = { 'x-csrf-token': bob.csrf_token }
    expect(await ada.ask('POST', '/companies', change, { headers })).toMatchObject({ status: 403 })
  })

  test('of a session from a page of another origin cannot even sign in', async () => {
    const headers = { origin: 'https://evil.example' }
    const answer = await openBrowser().ask('POST', '/sign-in', { email: 'a@example.com', password }, { headers })
    expect(answer).toMatchObject({ status: 403, body: { error: 'forged_request' } })
  })

  test('with a wrong admin token is refused, whatever cookies come with it', async () => {
    const browser = await signedIn('operator')
    const headers = { authorization: 'Bearer of-somebody-else' }
    expect(await browser.ask('GET', '/companies', undefined, { headers })).toMatchObject({
      status: 401,
      body: { error: 'invalid_admin_token' },
    })
  })

  test('with the password of /admin/docs, which a browser adds by itself, is that of its session', async () => {
    const basic = { authorization: `Basic ${Buffer.from(`x:${authorization.slice(7)}`).toString('base64')}` }
    const browser = await signedIn('operator')
    const ask = (by: typeof browser, headers: Record<string, string>) =>
      by.ask('POST', '/companies', change, { headers: { ...basic, ...headers } })
    expect(await ask(browser, {})).toMatchObject({ status: 200 })
    expect(await ask(browser, { origin: 'http://127.0.0.1:9000' })).toMatchObject({
      status: 403,
      body: { error: 'forged_request' },
    })
    const nobody = Object.assign(openBrowser(), { email: '' })
    expect(await ask(nobody, {})).toMatchObject({ status: 401, body: { error: 'missing_bearer_token' } })
  })
})

describe('over https', () => {
  const admin_url = 'https://panel.example.com'
  const world = peopleWorld({ admin_url })
  const headers = { host: 'panel.example.com', origin: admin_url }

  test('the cookies have the prefix that binds them to the host, and invitations name the address', async () => {
    const { body } = await world.ask('POST', '/people/invite', { email: 'ada@example.com', role: 'operator' })
    expect(body.invitation_url).toMatch(/^https:\/\/panel\.example\.com\/admin\/invitation#inv_[\w-]{43}$/)
    const browser = world.openBrowser()
    const token = world.tokenOf(body.invitation_url)
    await browser.ask('POST', '/invitations/accept', { token, password }, { headers })
    const { cookies, status } = await browser.ask(
      'POST',
      '/sign-in',
      { email: 'ada@example.com', password },
      { headers },
    )
    expect(status).toBe(200)
    expect(cookies).toEqual([
      expect.stringMatching(/^__Host-tributary=ses_\S+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Strict; Secure$/),
      expect.stringMatching(
        /^__Host-tributary_browser=brw_\S+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
      ),
    ])
    expect(await browser.ask('GET', '/me', undefined, { headers })).toMatchObject({ status: 200 })
    const other = { ...headers, host: 'other.example.com' }
    expect(await browser.ask('GET', '/me', undefined, { headers: other })).toMatchObject({ status: 401 })
  })
})

test('what has ended is deleted, and the audit log after two years', async () => {
  const browser = await signedIn('operator')
  await ask('POST', '/people/invite', { email: 'late@example.com', role: 'operator' })
  const counts = async () =>
    (
      await query(`SELECT (SELECT count(*)::int FROM sessions) AS sessions, (SELECT count(*)::int FROM one_time_links) AS links,
      (SELECT count(*)::int FROM admin_audit_log) AS entries`)
    )[0]
  const before = await counts()
  await removeExpired(pool(), clock.now_ms)
  expect((await counts()).entries).toBe(before.entries)
  expect(await browser.ask('GET', '/me')).toMatchObject({ status: 200 })
  await removeExpired(pool(), clock.now_ms + day_ms)
  expect(await counts()).toEqual({ sessions: 0, links: 0, entries: before.entries })
  await query(`INSERT INTO admin_audit_log (at, actor, action, subject, detail, request_id)
    VALUES (now() - interval '740 days', 'a', 'old', 's', '{}', 'r')`)
  await removeExpired(pool(), Date.now())
  expect(await query(`SELECT 1 FROM admin_audit_log WHERE action = 'old'`)).toEqual([])
})
