import { limits } from '@tributary/contracts/limits'
import { openIdentityProvider } from '@tributary/tenancy/people/oidc/identity-provider'
import { startIdentityProvider } from '@tributary/testing/people/test-identity-provider'
import { expect, test } from 'vitest'
import { oidcWorld } from './oidc-world.ts'
import { host, newEmail, origin, password, peopleWorld } from './people-world.ts'

const limited = await oidcWorld({ allowed_domains: ['acme.example'] }, { email_in: 'userinfo' })
const off = await oidcWorld({}, { oidc_alone: true })
const away = await oidcWorld({ issuer: 'http://127.0.0.1:9' })
const without = peopleWorld()

test.each([
  ['ada@acme.example', 303],
  ['eve@acme.example.com', 403],
  ['eve@evil-acme.example', 403],
  ['eve@acme.example@evil.example', 403],
])('with allowed domains %s is answered %i', async (email, status) => {
  const { subject } = limited.newAccount({ email, roles: 'operator' })
  expect(await limited.finish(limited.openBrowser(), subject)).toMatchObject({ status })
})

test('allowed domains count for accounts that are linked, too', async () => {
  const browser = await limited.signedIn('operator')
  const { subject } = limited.newAccount({ email: 'eve@evil.example' })
  expect(await limited.finish(browser, subject, '/me/oidc')).toMatchObject({ body: { error: 'oidc_email_refused' } })
})

test('without passwords people come by the identity provider alone', async () => {
  const refused = { status: 403, body: { error: 'password_sign_in_off' } }
  expect((await off.openBrowser().ask('GET', '/sign-in')).body).toEqual({ password: false, oidc: true })
  const email = newEmail()
  expect(await off.openBrowser().signIn(email)).toMatchObject(refused)
  const { token } = await off.invite('operator', undefined, { email })
  expect(await off.openBrowser().ask('POST', '/invitations/accept', { token, password })).toMatchObject(refused)
  expect(await off.openBrowser().ask('POST', '/resets/use', { token: 'none', password })).toMatchObject(refused)
  const { subject } = off.newAccount({ email })
  expect(await off.finish(off.openBrowser(), subject)).toMatchObject({ status: 303 })
})

test('without an identity provider its routes say so', async () => {
  expect((await without.openBrowser().ask('GET', '/sign-in')).body).toEqual({ password: true, oidc: false })
  expect(await without.openBrowser().ask('POST', '/sign-in/oidc')).toMatchObject({ body: { error: 'oidc_off' } })
  expect(await without.openBrowser().ask('GET', '/sign-in/oidc/callback')).toMatchObject({
    body: { error: 'oidc_off' },
  })
})

test('an identity provider that is away leaves passwords as they are, and its routes say when to try again', async () => {
  const answer = await away.inject('/sign-in/oidc', {
    method: 'POST',
    headers: { host, origin, authorization: undefined },
  })
  expect(answer.json()).toMatchObject({ error: 'oidc_unavailable' })
  expect(answer.statusCode).toBe(503)
  expect(answer.headers['retry-after']).toBe('5')
  expect(await away.openBrowser().signIn(await away.newPerson('operator'))).toMatchObject({ status: 200 })
})

test('what the identity provider says of itself is kept for an hour', async () => {
  let now_ms = Date.now()
  const provider = await startIdentityProvider(`${origin}/`)
  const settings = { ...provider, allowed_domains: [] }
  const idp = openIdentityProvider(settings, { now: () => now_ms, logger: { warn: () => {} } })
  const go = () => idp.addressOf('token', `${origin}/`, false)
  await go()
  await provider.close()
  await go()
  now_ms += limits.oidc_discovery_ms
  await expect(go()).rejects.toMatchObject({ code: 'oidc_unavailable' })
})
