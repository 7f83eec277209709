import { limits } from '@tributary/contracts/limits'
import { makeFirstLink } from '@tributary/tenancy/people/one-time-links'
import { openPasswords } from '@tributary/tenancy/people/passwords/password-hash'
import { acceptInvitation } from '@tributary/tenancy/people/use-links'
import { describe, expect, test } from 'vitest'
import { newEmail, password, peopleWorld } from './people-world.ts'

const { ask, clock, newCompany, openBrowser, newPerson, signedIn, withSecondFactor, invite, tokenOf } = peopleWorld()

describe('links that work once', () => {
  test('make an account with a password that is not common', async () => {
    const { email, token } = await invite('operator')
    const accept = (given: string) => openBrowser().ask('POST', '/invitations/accept', { token, password: given })
    for (const common of ['password1234', 'Sunshine2024!!', 'qwertyuiop12', 'abcabcabcabc', `${email}`, 'short'])
      expect(await accept(common), common).toMatchObject({
        status: 400,
        body: { error: 'invalid_field', field: 'password' },
      })
    expect(await accept(password)).toMatchObject({ status: 200, body: { email, next: 'sign_in' } })
    expect(await accept(password)).toMatchObject({ status: 404, body: { error: 'unknown_one_time_link' } })
    expect(await openBrowser().signIn(email)).toMatchObject({ status: 200 })
  })

  test('used at the same moment count once', async () => {
    const { token } = await invite('operator')
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => openBrowser().ask('POST', '/invitations/accept', { token, password })),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  test('end after 24 hours', async () => {
    const { token } = await invite('operator')
    clock.now_ms += limits.one_time_link_ms
    expect(await openBrowser().ask('POST', '/invitations/accept', { token, password })).toMatchObject({ status: 404 })
  })

  test('to an account that exists add the role after its sign-in, and never set a password', async () => {
    const { company_id } = await newCompany()
    const email = await newPerson('operator')
    const { token } = await invite('analyst', company_id, { email })
    const stranger = await signedIn('operator')
    const other = 'another password that is long'
    for (const browser of [openBrowser(), stranger])
      expect(await browser.ask('POST', '/invitations/accept', { token, password: other })).toMatchObject({
        ...{ status: 401, body: { error: 'sign_in_required' } },
      })
    const browser = openBrowser()
    await browser.signIn(email)
    expect(await browser.ask('POST', '/invitations/accept', { token, password: other })).toMatchObject({
      body: { next: 'done' },
    })
    expect(await openBrowser().signIn(email, other)).toMatchObject({ status: 401 })
    const { memberships } = (await browser.ask('GET', '/me')).body
    expect(memberships.map(({ role }: { role: string }) => role)).toEqual(['operator', 'analyst'])
  })

  test.each([
    'ada',
    'a@x.org,b',
    '<a@x.org>',
    'a,b@x.org',
    'a@x.org;b@y.org',
    'a b@x.org',
    '"a"@x.org',
    'a@x.org\r\nBcc: b@y.org',
  ])('to what is no single address are refused: %s', async (email) => {
    const answer = await ask('POST', '/people/invite', { email, role: 'operator' })
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_field', field: 'email' } })
  })

  test.each(['removed', 'changed'])('of a person who is %s invite nobody', async (what) => {
    const { company_id } = await newCompany()
    await newPerson('owner', company_id)
    const leaving = await signedIn('owner', company_id)
    const { body } = await leaving.ask('POST', '/people/invite', { email: newEmail(), role: 'owner', company_id })
    const member = { email: leaving.email, company_id }
    const [path, given] =
      what === 'removed' ? ['/people/remove', member] : ['/people/change', { ...member, role: 'analyst' }]
    expect(await ask('POST', path as string, given as object)).toMatchObject({ status: 200 })
    const accepted = { token: tokenOf(body.invitation_url), password }
    expect(await openBrowser().ask('POST', '/invitations/accept', accepted)).toMatchObject({ status: 404 })
  })

  test('reset no password of an account that was made anew', async () => {
    const email = await newPerson('operator')
    const { body } = await ask('POST', '/people/reset', { email, second_factor: true })
    expect(await ask('POST', '/people/remove', { email })).toMatchObject({ status: 200 })
    const { token } = await invite('operator', undefined, { email })
    expect(await openBrowser().ask('POST', '/invitations/accept', { token, password })).toMatchObject({ status: 200 })
    const change = { token: tokenOf(body.reset_url), password: 'a password of whoever kept the link' }
    expect(await openBrowser().ask('POST', '/resets/use', change)).toMatchObject({ status: 404 })
    expect(await openBrowser().signIn(email)).toMatchObject({ status: 200 })
  })

  test('reset a password once, and end every session', async () => {
    const browser = await signedIn('operator')
    const { body } = await ask('POST', '/people/reset', { email: browser.email })
    expect(body.reset_url).toMatch(/^http:\/\/localhost:80\/admin\/reset#rst_[\w-]{43}$|\/admin\/reset#rst_/)
    const next = 'the next password of this person'
    const use = () => openBrowser().ask('POST', '/resets/use', { token: tokenOf(body.reset_url), password: next })
    expect(await use()).toMatchObject({ status: 200 })
    expect(await use()).toMatchObject({ status: 404, body: { error: 'unknown_one_time_link' } })
    await expect.poll(async () => (await browser.ask('GET', '/me')).status).toBe(401)
    expect(await openBrowser().signIn(browser.email)).toMatchObject({ status: 401 })
    expect(await openBrowser().signIn(browser.email, next)).toMatchObject({ status: 200 })
  })

  test('that reset a password leave no session that begins meanwhile with the one before', async () => {
    const email = await newPerson('operator')
    const { body } = await ask('POST', '/people/reset', { email })
    const browsers = Array.from({ length: 12 }, (_, n) => openBrowser(`203.0.113.${n}`))
    const given = { token: tokenOf(body.reset_url), password: 'the next password of this person' }
    const reset = openBrowser('203.0.113.200').ask('POST', '/resets/use', given)
    await Promise.all(browsers.map((browser) => browser.signIn(email)))
    expect(await reset).toMatchObject({ status: 200 })
    for (const browser of browsers) await expect.poll(async () => (await browser.ask('GET', '/me')).status).toBe(401)
  })

  test('that reset a password are not undone by a change with the one before', async () => {
    const { email, ...browser } = await signedIn('operator')
    const { body } = await ask('POST', '/people/reset', { email })
    const [stolen, next] = ['the password of who stole the account', 'the next password of this person']
    const [changed, reset] = await Promise.all([
      browser.ask('POST', '/me/password', { password, new_password: stolen }),
      openBrowser('203.0.113.200').ask('POST', '/resets/use', { token: tokenOf(body.reset_url), password: next }),
    ])
    // The change takes two hashes and the reset one. A change that was first ends the link.
    expect([changed.status, reset.status].toSorted()).not.toEqual([200, 200])
    const last = reset.status === 200 ? next : stolen
    for (const one of [stolen, next])
      expect(await openBrowser().signIn(email, one)).toMatchObject({ status: one === last ? 200 : 401 })
  })

  test('to reset a password end with the account: they open no later one of the same email', async () => {
    const { company_id } = await newCompany()
    const email = await newPerson('analyst', company_id)
    const { body } = await ask('POST', '/people/reset', { email })
    await ask('POST', '/people/remove', { email, company_id })
    const { token } = await invite('analyst', company_id, { email })
    await openBrowser().ask('POST', '/invitations/accept', { token, password })
    const given = { token: tokenOf(body.reset_url), password: 'the next password of this person' }
    expect(await openBrowser().ask('POST', '/resets/use', given)).toMatchObject({ status: 404 })
  })

  test('that are made at the same moment replace each other', async () => {
    const { company_id } = await newCompany()
    const email = newEmail()
    const made = await Promise.all(Array.from({ length: 6 }, () => invite('analyst', company_id, { email })))
    const used = []
    for (const { token } of made) used.push(await openBrowser().ask('POST', '/invitations/accept', { token, password }))
    // Another open one would answer `sign_in_required` now.
    expect(used.map(({ status }) => status).toSorted()).toEqual([200, 404, 404, 404, 404, 404])
  })

  test('of a reset leave the second factor, unless they say otherwise', async () => {
    const browser = await signedIn('operator')
    await withSecondFactor(browser)
    const next = ['the next password of this person', 'and one more password of this person']
    for (const [n, second_factor] of [false, true].entries()) {
      const { body } = await ask('POST', '/people/reset', { email: browser.email, second_factor })
      await openBrowser().ask('POST', '/resets/use', { token: tokenOf(body.reset_url), password: next[n] })
      const signed = await openBrowser().signIn(browser.email, next[n])
      expect(signed.body.next).toBe(second_factor ? 'done' : 'second_factor')
    }
  })
})

describe('the link of the first person', () => {
  const world = peopleWorld()

  test('opens nothing once there is an operator, who may have come while its password was hashed', async () => {
    const pool = world.pool()
    const passwords = openPasswords()
    const hash = async (...given: Parameters<typeof passwords.hash>) => {
      await world.newPerson('operator')
      return passwords.hash(...given)
    }
    const now = () => world.clock.now_ms
    const { token } = (await makeFirstLink(pool, null, now()))!
    const visitor = { ip: '192.0.2.1', agent: '', request_id: 'r', browser: null }
    const given = { token, email: newEmail(), password }
    const deps = { pool, now, passwords: { ...passwords, hash } }
    await expect(acceptInvitation(deps, given, null, visitor)).rejects.toMatchObject({ code: 'unknown_one_time_link' })
    expect(await world.query('SELECT 1 FROM people')).toHaveLength(1)
  })
})
