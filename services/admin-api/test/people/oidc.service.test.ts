import { limits } from '@tributary/contracts/limits'
import { signInByOidc } from '@tributary/tenancy/people/oidc/oidc-sign-in'
import { endClaimedRoles } from '@tributary/tenancy/people/remove-expired'
import { describe, expect, test, vi } from 'vitest'
import { oidcWorld } from './oidc-world.ts'
import { codeOf, password } from './people-world.ts'

const world = await oidcWorld()
const { ask, clock, newCompany, openBrowser, signedIn, invite, withSecondFactor } = world
const { provider, newAccount, comeBack, finish, linked, query, log } = world
const failed = { status: 401, body: { error: 'oidc_failed' } }
const roleOf = (company_id: string, role: string) => ({ roles: ['staff', `${company_id}:${role}`] })

describe('a sign-in by the identity provider', () => {
  test('makes an account with the roles of the claim, and the same session as a password', async () => {
    const { company_id } = await newCompany()
    const { subject, email } = newAccount(roleOf(company_id, 'analyst'))
    const browser = openBrowser()
    const answer = await finish(browser, subject)
    expect(answer).toMatchObject({ status: 303 })
    expect(answer.cookies).toEqual([
      expect.stringMatching(/^tributary_8080_oidc=; Max-Age=0/),
      expect.stringMatching(/^tributary_8080=ses_[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/),
      expect.stringMatching(/^tributary_8080_browser=/),
    ])
    expect(await browser.ask('GET', '/me')).toMatchObject({
      status: 200,
      body: { email, password: false, oidc: true, memberships: [{ role: 'analyst', company_id }] },
    })
    const { entries } = (await ask('GET', `/audit-log?actor=${email}`)).body
    expect(entries.map(({ action }: { action: string }) => action)).toEqual(['person.sign_in', 'person.join'])
  })

  test('keeps its cookie for ten minutes, open to the way back from another site and closed to scripts', async () => {
    const { cookies } = await openBrowser().ask('POST', '/sign-in/oidc')
    expect(cookies).toEqual([
      expect.stringMatching(/^tributary_8080_oidc=[\w.-]{100,600}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/),
    ])
    const { company_id } = await newCompany()
    const browser = openBrowser()
    const back = await comeBack(browser, newAccount(roleOf(company_id, 'analyst')).subject)
    clock.now_ms += limits.oidc_ms_max
    expect(await browser.ask('GET', back)).toMatchObject(failed)
    clock.now_ms -= limits.oidc_ms_max
  })

  test('takes the role of an open invitation to the verified email, once', async () => {
    const { company_id } = await newCompany()
    const { subject, email } = newAccount()
    await invite('marketer', company_id, { email })
    const browser = openBrowser()
    expect(await finish(browser, subject)).toMatchObject({ status: 303 })
    expect((await browser.ask('GET', '/me')).body.memberships).toMatchObject([{ role: 'marketer', company_id }])
    expect(await query('SELECT 1 FROM one_time_links WHERE email = $1', [email])).toEqual([])
  })

  test.each([
    ['without a role', {}, 'oidc_no_role', 403],
    ['with roles of others', { roles: ['operators', 'none:owner', 'operator:', 7] }, 'oidc_no_role', 403],
    ['with an unverified email', { roles: 'operator', email_verified: false }, 'oidc_email_refused', 403],
    [
      'with a spelling of another email',
      { roles: 'operator', email: 'ad\uff41@example.com' },
      'oidc_email_refused',
      403,
    ],
  ])('refuses a new person %s, and keeps nothing of them', async (_what, claims, error, status) => {
    const { subject } = newAccount(claims)
    expect(await finish(openBrowser(), subject)).toMatchObject({ status, body: { error } })
    expect(await query('SELECT 1 FROM identities WHERE subject = $1', [subject])).toEqual([])
    expect(
      await query(
        'SELECT 1 FROM people p WHERE NOT EXISTS (SELECT 1 FROM memberships m WHERE m.person_id = p.person_id)',
      ),
    ).toEqual([])
  })

  test('asks for the second factor of the account', async () => {
    const browser = await signedIn('operator')
    const { secret } = await withSecondFactor(browser)
    const { subject } = await linked(browser)
    clock.now_ms += 60_000
    const other = openBrowser()
    const answer = await finish(other, subject)
    expect(answer).toMatchObject({ status: 303 })
    expect(await other.ask('GET', '/me')).toMatchObject({ status: 401, body: { error: 'session_ended' } })
    const code = codeOf(secret, clock.now_ms)
    expect(await other.ask('POST', '/sign-in/second-factor', { code })).toMatchObject({ body: { next: 'done' } })
    expect(await other.ask('GET', '/me')).toMatchObject({ status: 200 })
  })

  test('gives and takes the roles of the claim at each sign-in, and leaves those that people gave', async () => {
    const [one, two, given] = [await newCompany(), await newCompany(), await newCompany()]
    const { subject, email } = newAccount({ roles: [`${one.company_id}:analyst`, `${given.company_id}:owner`] })
    await invite('admin', given.company_id, { email })
    const roles = async () => {
      const browser = openBrowser()
      expect(await finish(browser, subject)).toMatchObject({ status: 303 })
      const { memberships } = (await browser.ask('GET', '/me')).body
      return memberships.map(({ company_id, role }: Record<string, string>) => `${company_id}:${role}`).toSorted()
    }
    const kept = `${given.company_id}:admin`
    expect(await roles()).toEqual([`${one.company_id}:analyst`, kept].toSorted())
    provider.accounts.set(subject, { email, email_verified: true, roles: [`${two.company_id}:privacy`] })
    expect(await roles()).toEqual([`${two.company_id}:privacy`, kept].toSorted())
    await ask('POST', '/people/remove', { email, company_id: given.company_id })
    provider.accounts.set(subject, { email, email_verified: true })
    expect(await finish(openBrowser(), subject)).toMatchObject({ status: 403, body: { error: 'oidc_no_role' } })
    expect(await query('SELECT 1 FROM people WHERE email = $1', [email])).toEqual([])
  })
})

describe('an answer of the identity provider', () => {
  const operator = () => newAccount({ roles: 'operator' }).subject

  test('counts once, and in the browser that began alone', async () => {
    const [browser, thief] = [openBrowser(), openBrowser()]
    const back = await comeBack(browser, operator())
    expect(await thief.ask('GET', back)).toMatchObject(failed)
    await thief.ask('POST', '/sign-in/oidc')
    expect(await thief.ask('GET', back)).toMatchObject(failed)
    const cookie = browser.cookies.get('tributary_8080_oidc')!
    expect(await browser.ask('GET', back)).toMatchObject({ status: 303 })
    browser.cookies.set('tributary_8080_oidc', cookie)
    expect(await browser.ask('GET', back)).toMatchObject(failed)
  })

  test('with a code that was used before opens nothing', async () => {
    const subject = operator()
    const [browser, other] = [openBrowser(), openBrowser()]
    const back = await comeBack(browser, subject)
    await browser.ask('GET', back)
    const next = new URLSearchParams((await comeBack(other, subject)).split('?')[1])
    next.set('code', new URLSearchParams(back.split('?')[1]).get('code')!)
    expect(await other.ask('GET', `/sign-in/oidc/callback?${next}`)).toMatchObject(failed)
  })

  test.each([
    ['another state', 'state', 'forged'],
    ['the issuer of another provider', 'iss', 'https://other.example.com'],
    ['no issuer', 'iss', null],
  ])('with %s opens nothing', async (_what, name, value) => {
    const browser = openBrowser()
    const query = new URLSearchParams((await comeBack(browser, operator())).split('?')[1])
    if (value === null) query.delete(name)
    else query.set(name, value)
    expect(await browser.ask('GET', `/sign-in/oidc/callback?${query}`)).toMatchObject(failed)
  })

  test.each([
    ['another nonce', { nonce: 'forged' }],
    ['a token that has expired', { iat: 1, exp: 2 }],
    ['a token for another client', { aud: 'another' }],
    ['a token of another issuer', { iss: 'https://other.example.com' }],
  ])('with %s opens nothing', async (_what, change) => {
    provider.alter = (claims) => ({ ...claims, ...change })
    expect(await finish(openBrowser(), operator())).toMatchObject(failed)
    provider.alter = null
    expect(await finish(openBrowser(), operator())).toMatchObject({ status: 303 })
  })

  test('with a token that another key has signed opens nothing', async () => {
    Object.assign(provider, { alter: (claims: object) => claims, forges: true })
    expect(await finish(openBrowser(), operator())).toMatchObject(failed)
    provider.forges = false
    expect(await finish(openBrowser(), operator())).toMatchObject({ status: 303 })
    provider.alter = null
  })

  test('that is forged uses the sign-in up: the right one comes too late', async () => {
    const browser = openBrowser()
    const back = await comeBack(browser, operator())
    const cookie = browser.cookies.get('tributary_8080_oidc')!
    await browser.ask('GET', '/sign-in/oidc/callback?code=forged&state=forged')
    browser.cookies.set('tributary_8080_oidc', cookie)
    expect(await browser.ask('GET', back)).toMatchObject(failed)
  })

  test('that says no is an error with a code', async () => {
    const browser = openBrowser()
    const state = new URL((await browser.ask('POST', '/sign-in/oidc')).body.authorization_url).searchParams.get('state')
    const refused = new URLSearchParams({ error: 'access_denied', state: state!, iss: provider.issuer })
    expect(await browser.ask('GET', `/sign-in/oidc/callback?${refused}`)).toMatchObject(failed)
  })
})

describe('an account with a password', () => {
  test('is not taken over by whoever has its email at the provider, also after the subject changed', async () => {
    const browser = await signedIn('operator')
    const { subject } = await linked(browser, { email: browser.email })
    expect(await finish(openBrowser(), subject)).toMatchObject({ status: 303 })
    const other = newAccount({ email: browser.email, roles: 'operator' })
    expect(await finish(openBrowser(), other.subject)).toMatchObject({
      status: 409,
      body: { error: 'oidc_not_linked' },
    })
  })

  test('is linked with the password of the last 15 minutes alone', async () => {
    const browser = await signedIn('operator')
    clock.now_ms += limits.session_fresh_ms
    const needed = { status: 403, body: { error: 'password_needed' } }
    expect(await browser.ask('POST', '/me/oidc')).toMatchObject(needed)
    await browser.ask('POST', '/me/confirm', { password })
    const { subject } = await linked(browser)
    const byOidc = openBrowser()
    provider.alter = (claims) => ({ ...claims, auth_time: Math.floor(clock.now_ms / 1000) })
    await finish(byOidc, subject)
    provider.alter = null
    byOidc.csrf_token = (await byOidc.ask('GET', '/me')).body.csrf_token
    expect(await byOidc.ask('POST', '/me/oidc')).toMatchObject(needed)
    clock.now_ms = Date.now()
  })

  test('is not linked to an identity of another account, nor by a session that has ended', async () => {
    const { subject } = await linked(await signedIn('operator'))
    const browser = await signedIn('operator')
    expect(await finish(browser, subject, '/me/oidc')).toMatchObject({ status: 409, body: { error: 'oidc_taken' } })
    const back = await comeBack(browser, newAccount().subject, '/me/oidc')
    await browser.ask('POST', '/sign-out')
    expect(await browser.ask('GET', back)).toMatchObject({ status: 401 })
  })

  test('is no longer linked after a reset of its password', async () => {
    const browser = await signedIn('operator')
    const { subject } = await linked(browser)
    const { body } = await ask('POST', '/people/reset', { email: browser.email })
    await openBrowser().ask('POST', '/resets/use', { token: world.tokenOf(body.reset_url), password })
    expect(await finish(openBrowser(), subject)).toMatchObject({ status: 403 })
  })

  test('is no longer linked after its owner changed the password: whoever held the browser may have linked an identity', async () => {
    const browser = await signedIn('operator')
    const { subject } = await linked(browser)
    const body = { password, new_password: 'quite another one of Ada' }
    expect(await browser.ask('POST', '/me/password', body)).toMatchObject({ status: 200 })
    expect(await finish(openBrowser(), subject)).toMatchObject({ status: 403 })
  })
})

describe('a fresh proof', () => {
  test('asks the provider for the person again, and checks when that was', async () => {
    const { company_id, app_id } = await world.newApp()
    const { subject } = newAccount(roleOf(company_id, 'admin'))
    const browser = openBrowser()
    await finish(browser, subject)
    browser.csrf_token = (await browser.ask('GET', '/me')).body.csrf_token
    const mint = () => browser.ask('POST', '/keys', { app_id, label: 'billing' })
    expect(await mint()).toMatchObject({ status: 403, body: { error: 'password_needed' } })
    expect((await browser.ask('POST', '/me/confirm/oidc')).body.authorization_url).toContain('max_age=0')
    provider.alter = ({ auth_time: _none, ...claims }) => claims
    expect(await finish(browser, subject, '/me/confirm/oidc')).toMatchObject(failed)
    provider.alter = (claims) => ({ ...claims, auth_time: Math.floor(Date.now() / 1000) - 3600 })
    expect(await finish(browser, subject, '/me/confirm/oidc')).toMatchObject(failed)
    provider.alter = null
    const other = newAccount(roleOf(company_id, 'admin'))
    expect(await finish(browser, other.subject, '/me/confirm/oidc')).toMatchObject(failed)
    expect(await mint()).toMatchObject({ status: 403 })
    expect(await finish(browser, subject, '/me/confirm/oidc')).toMatchObject({ status: 303 })
    expect(await mint()).toMatchObject({ status: 200 })
  })
})

test('the secret of the client, codes and tokens are in no log and in no table', async () => {
  provider.alter = () => ({})
  await finish(openBrowser(), newAccount().subject)
  provider.alter = null
  const browser = openBrowser()
  const back = await comeBack(browser, newAccount({ roles: 'operator' }).subject)
  await browser.ask('GET', back)
  const code = new URLSearchParams(back.split('?')[1]).get('code')!
  const logged = log.join('')
  for (const secret of [provider.client_secret, code, browser.cookies.get('tributary_8080')!])
    expect(logged).not.toContain(secret)
  expect(logged).not.toContain(Buffer.from(`${provider.client_id}:${provider.client_secret}`).toString('base64'))
  expect(logged).toContain('a sign-in at the identity provider failed')
})

test('however many sign-ins one address begins, others behind it go on, and a cookie that was changed opens nothing', async () => {
  const begin = (n: number) => openBrowser().ask(n % 2 === 0 ? 'POST' : 'GET', begun[n % 2]!)
  const begun = ['/sign-in/oidc', '/sign-in/oidc/callback?code=c&state=s']
  const answers = await Promise.all(Array.from({ length: 300 }, (_, n) => begin(n)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(150)
  const browser = openBrowser()
  const back = await comeBack(browser, newAccount({ roles: 'operator' }).subject)
  const forger = openBrowser()
  const cookie = browser.cookies.get('tributary_8080_oidc')!
  forger.cookies.set('tributary_8080_oidc', `${cookie.slice(0, -2)}${cookie.endsWith('AA') ? 'BB' : 'AA'}`)
  expect(await forger.ask('GET', back)).toMatchObject(failed)
  expect(await browser.ask('GET', back)).toMatchObject({ status: 303 })
})

describe('a role by a claim', () => {
  const rolesIn = async (browser: ReturnType<typeof openBrowser>) => {
    const { memberships } = (await browser.ask('GET', '/me')).body
    return memberships.map(({ role }: { role: string }) => role)
  }
  /** A person with a role by a claim in one company, and one that people gave in another. */
  async function claimed(role = 'owner') {
    const [one, given] = [await newCompany(), await newCompany()]
    const account = newAccount(roleOf(one.company_id, role))
    await invite('analyst', given.company_id, { email: account.email })
    const browser = openBrowser()
    await finish(browser, account.subject)
    return { browser, ...account, company_id: one.company_id }
  }

  test('holds a day after the sign-in that gave it, also in a session that stays open', async () => {
    const { browser, subject } = await claimed()
    expect((await rolesIn(browser)).toSorted()).toEqual(['analyst', 'owner'])
    for (let hours = 0; hours < 24; hours += 8) {
      expect(await rolesIn(browser)).toHaveLength(2)
      clock.now_ms += 8 * 3600_000
    }
    expect(await rolesIn(browser)).toEqual(['analyst'])
    clock.now_ms = Date.now()
    const other = openBrowser()
    await finish(other, subject)
    await vi.waitFor(async () => expect(await rolesIn(browser)).toHaveLength(2), { timeout: 60_000 })
  })

  test('that has ended makes nobody of the last owner', async () => {
    const { company_id } = await claimed()
    const owner = await signedIn('owner', company_id)
    const remove = () => ask('POST', '/people/remove', { email: owner.email, company_id })
    clock.now_ms += limits.claimed_role_ms
    expect(await remove()).toMatchObject({ body: { error: 'last_of_role' } })
    clock.now_ms = Date.now()
    expect(await remove()).toMatchObject({ status: 200 })
  })

  test('ends without the setting: at once in open sessions, and for good at the next sign-in', async () => {
    const { browser, subject, email } = await claimed('admin')
    await endClaimedRoles(world.pool())
    await vi.waitFor(async () => expect(await rolesIn(browser)).toEqual(['analyst']), { timeout: 60_000 })
    const { settings } = world
    const off = { ...settings, role_claim: undefined }
    const identity = { issuer: settings.issuer, subject, email, auth_time_ms: null, role_claim: undefined }
    const deps = { pool: world.pool(), now: () => clock.now_ms }
    await signInByOidc(deps, identity, off, { ip: '127.0.0.1', agent: '', request_id: 'r', browser: null })
    expect(
      await query('SELECT 1 FROM memberships JOIN people USING (person_id) WHERE email = $1 AND by_claim', [email]),
    ).toEqual([])
  })
})

test('an identity is unlinked with the password of the last 15 minutes, and opens nothing from then on', async () => {
  const browser = await signedIn('operator')
  const { subject } = await linked(browser)
  const byOidc = openBrowser()
  await finish(byOidc, subject)
  byOidc.csrf_token = (await byOidc.ask('GET', '/me')).body.csrf_token
  expect(await byOidc.ask('DELETE', '/me/oidc')).toMatchObject({ status: 403, body: { error: 'password_needed' } })
  expect(await browser.ask('DELETE', '/me/oidc')).toMatchObject({ status: 200, body: { done: true } })
  expect((await browser.ask('GET', '/me')).body).toMatchObject({ oidc: false, password: true })
  expect(await byOidc.ask('GET', '/me')).toMatchObject({ status: 401 })
  expect(await finish(openBrowser(), subject)).toMatchObject({ status: 403 })
  expect((await world.auditOf((await browser.ask('GET', '/me')).body.person_id)).map(({ action }) => action)).toContain(
    'person.unlink',
  )
})
