import { type OidcSettings, openIdentityProvider } from '@tributary/tenancy/people/oidc/identity-provider'
import { startIdentityProvider } from '@tributary/testing/people/test-identity-provider'
import { pino } from 'pino'
import { afterAll } from 'vitest'
import type { AdminApiDeps } from '../../src/deps.ts'
import { type Browser, newEmail, origin, peopleWorld } from './people-world.ts'

const callback = '/admin/api/v1/sign-in/oidc/callback'

/** People with browsers, the admin API, and an identity provider that runs. The clock is that of the provider. */
export async function oidcWorld(
  settings: Partial<OidcSettings> = {},
  more: Partial<AdminApiDeps> & Parameters<typeof startIdentityProvider>[1] = {},
) {
  const { email_in, ...given } = more
  const provider = await startIdentityProvider(origin + callback, email_in === undefined ? {} : { email_in })
  afterAll(() => provider.close())
  const { issuer, client_id, client_secret } = provider
  const log: string[] = []
  const logger = pino({ level: 'trace' }, { write: (line: string) => void log.push(line) })
  const all = { issuer, client_id, client_secret, role_claim: 'roles', allowed_domains: [], ...settings }
  const oidc = openIdentityProvider(all, { now: () => world.clock.now_ms, logger })
  const world = peopleWorld({ oidc, logger, ...given })
  world.clock.now_ms = Date.now()

  /** An account at the provider. */
  function newAccount(claims: object = {}): { subject: string; email: string } {
    const subject = `sub-${newEmail()}`
    const email = newEmail()
    provider.accounts.set(subject, { email, email_verified: true, ...claims })
    return { subject, email }
  }

  /** Where the provider sends a browser back that began at this path, with the query as the API gets it. */
  async function comeBack(browser: Browser, subject: string, path = '/sign-in/oidc'): Promise<string> {
    const { status, body, text } = await browser.ask('POST', path)
    if (status !== 200) throw new Error(text)
    const { search } = await provider.signIn(body.authorization_url, subject)
    return `/sign-in/oidc/callback${search}`
  }
  const finish = async (browser: Browser, subject: string, path?: string) =>
    browser.ask('GET', await comeBack(browser, subject, path))

  /** Links an account of the provider to that of a browser. */
  async function linked(browser: Browser, claims: object = {}) {
    const account = newAccount(claims)
    const answer = await finish(browser, account.subject, '/me/oidc')
    if (answer.status !== 303) throw new Error(answer.text)
    return account
  }
  return { ...world, provider, settings: all, log, newAccount, comeBack, finish, linked }
}
