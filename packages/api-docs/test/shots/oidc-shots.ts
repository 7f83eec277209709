import { limits } from '@tributary/contracts/limits'
import type { TestIdentityProvider } from '@tributary/testing/people/test-identity-provider'
import type { Shot } from '../shot.ts'
import type { SessionHeaders } from './people-shots.ts'

const prefix = '/admin/api/v1'
const begin = 'POST /sign-in/oidc'
const callback = 'GET /sign-in/oidc/callback'

/** Every code of sign-in by an identity provider. `session` is that of somebody whose password was given a moment ago. */
export async function oidcShots(url: string, provider: TestIdentityProvider, session: SessionHeaders): Promise<Shot[]> {
  const guest = { origin: new URL(url).origin }
  const shot = (route: string, code: string, headers: object, query = ''): Shot => {
    const [method, template = ''] = route.split(' ')
    return { route: `${method} ${prefix}${template}`, code, path: prefix + template + query, headers: { ...headers } }
  }
  /** The last step of a browser that comes back, as an account of the provider with these claims. */
  const back = async (
    code: string,
    subject: string,
    claims: object,
    path = '/sign-in/oidc',
    headers: object = guest,
  ) => {
    provider.accounts.set(subject, { email: `${subject}@example.com`, email_verified: true, ...claims })
    const answer = await fetch(url + prefix + path, { method: 'POST', headers: { ...headers } })
    const { authorization_url } = (await answer.json()) as { authorization_url: string }
    const { search } = await provider.signIn(authorization_url, subject)
    return shot(callback, code, { cookie: answer.headers.getSetCookie()[0]!.split(';')[0] }, search)
  }
  const insecure = { host: 'panel.example.com', origin: 'http://panel.example.com' }
  const doors = [
    [begin, guest],
    ['POST /me/oidc', session],
    ['POST /me/confirm/oidc', session],
  ] as const
  const answers = [
    await back('ok', 'new', { roles: 'operator' }),
    await back('oidc_taken', 'new', { roles: 'operator' }, '/me/oidc', session),
    await back('oidc_email_refused', 'unverified', { email_verified: false }),
    await back('oidc_no_role', 'nobody', {}),
    await back('oidc_not_linked', 'ada', {}),
  ]
  return [
    ...answers,
    shot('GET /sign-in', 'ok', {}),
    shot('GET /sign-in', 'insecure_address', insecure),
    shot(callback, 'oidc_failed', {}, '?code=c&state=s'),
    shot(callback, 'invalid_field', {}, `?state=${'s'.repeat(limits.oidc_answer_chars_max + 1)}`),
    shot(callback, 'insecure_address', insecure),
    shot(begin, 'forged_request', {}),
    shot(begin, 'insecure_address', insecure),
    { ...shot(begin, 'body_too_large', guest), announced_bytes: limits.fx_csv_bytes_max + 1 },
    ...doors.map(([route, headers]) => shot(route, 'ok', headers)),
    shot('DELETE /me/oidc', 'ok', session),
  ]
}
