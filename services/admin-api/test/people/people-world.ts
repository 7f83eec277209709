import { randomBytes } from 'node:crypto'
import type { Role } from '@tributary/contracts/admin/people/roles'
import type { Route } from '@tributary/contracts/route'
import type { InjectOptions } from 'fastify'
import { Secret, TOTP } from 'otpauth'
import type { AdminApiDeps } from '../../src/deps.ts'
import { adminApiUnderTest } from '../admin-api-under-test.ts'
import type { Beside } from '../admin-app.ts'

export const host = '127.0.0.1:8080'
export const origin = `http://${host}`
export const password = 'a rather long password of this test'
const base = '/admin/api/v1'

/** Any JSON: tests say what they expect of it. */
type Body = ReturnType<typeof JSON.parse>

export interface Answer {
  status: number
  body: Body
  cookies: string[]
  text: string
  headers: Record<string, unknown>
}

/** What a browser does for a person: it keeps cookies and sends its `Origin`. */
export interface Browser {
  cookies: Map<string, string>
  csrf_token: string
  ask(method: Route['method'], path: string, body?: object, change?: InjectOptions): Promise<Answer>
  signIn(email: string, with_password?: string): Promise<Answer>
}

/** The code of an authenticator at a time. */
export const codeOf = (secret: string, timestamp: number): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp })

export const newEmail = () => `${randomBytes(6).toString('hex')}@example.com`

/** The admin API with a clock that stands still, and people with their browsers. */
export function peopleWorld(given: Partial<AdminApiDeps> = {}, beside?: Beside) {
  const clock = { now_ms: Date.UTC(2026, 5, 1) }
  const api = adminApiUnderTest({ now: () => clock.now_ms, ...given }, beside)

  function openBrowser(remoteAddress = '127.0.0.1'): Browser {
    const browser: Browser = {
      cookies: new Map(),
      csrf_token: '',
      async ask(method, path, body, { headers, ...change } = {}) {
        const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
        const answer = await api.inject(path, {
          ...{ method, remoteAddress, ...change },
          headers: {
            ...{ host, origin, authorization: undefined, ...(cookie === '' ? {} : { cookie }) },
            ...{ 'x-csrf-token': browser.csrf_token, 'content-type': 'application/json', ...headers },
          } as Record<string, string>,
          ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
        })
        const cookies = [answer.headers['set-cookie'] ?? []].flat()
        for (const one of cookies) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(one) ?? []
          if (value === '') browser.cookies.delete(name)
          else browser.cookies.set(name, value)
        }
        const isJson = answer.headers['content-type']?.startsWith('application/json') === true
        return {
          status: answer.statusCode,
          body: isJson ? answer.json() : {},
          cookies,
          text: answer.payload,
          headers: answer.headers,
        }
      },
      async signIn(email, with_password = password) {
        const answer = await browser.ask('POST', '/sign-in', { email, password: with_password })
        browser.csrf_token = answer.body.csrf_token ?? ''
        return answer
      },
    }
    return browser
  }

  const tokenOf = (url: string) => url.slice(url.indexOf('#') + 1)
  async function invite(role: Role, company_id?: string, more: { email?: string; app_ids?: string[] } = {}) {
    const email = more.email ?? newEmail()
    const { status, body } = await api.ask('POST', '/people/invite', { email, role, company_id, ...more }, { host })
    if (status !== 200) throw new Error(JSON.stringify(body))
    return { email, token: tokenOf(body.invitation_url) }
  }

  /** A person with a role, without a session. */
  async function newPerson(role: Role, company_id?: string, more: { app_ids?: string[] } = {}): Promise<string> {
    const { email, token } = await invite(role, company_id, more)
    const accepted = await openBrowser().ask('POST', '/invitations/accept', { token, password })
    if (accepted.status !== 200) throw new Error(accepted.text)
    return email
  }

  /** The browser of a person who is signed in. */
  async function signedIn(
    role: Role,
    company_id?: string,
    more: { app_ids?: string[] } = {},
  ): Promise<Browser & { email: string }> {
    const email = await newPerson(role, company_id, more)
    const browser = openBrowser()
    await browser.signIn(email)
    return Object.assign(browser, { email })
  }

  /** Signs in with a second factor and returns its secret. */
  async function withSecondFactor(browser: Browser): Promise<{ secret: string; recovery_codes: string[] }> {
    const { secret } = (await browser.ask('POST', '/me/totp')).body as { secret: string }
    const { body } = await browser.ask('POST', '/me/totp/confirm', { code: codeOf(secret, clock.now_ms) })
    return { secret, recovery_codes: body.recovery_codes as string[] }
  }

  return { ...api, clock, openBrowser, invite, newPerson, signedIn, withSecondFactor, tokenOf }
}

export const base_path = base
