import { limits } from '@tributary/contracts/limits'
import { Secret, TOTP } from 'otpauth'
import { bearer, type Companies, type Shot } from '../shot.ts'

const prefix = '/admin/api/v1'
const password = 'a password of the document'
const wrong = { password: 'not the password' }

/** A browser sends these headers in a session. */
export type SessionHeaders = Record<'origin' | 'cookie' | 'x-csrf-token', string>

interface People {
  shots: Shot[]
  /** The session of a person with the role privacy in one company, who may call little. */
  privacy: SessionHeaders
}

/** Every code of accounts and of sign-in; people are made for them first. */
export async function peopleShots(url: string, admin_token: string, { tenant, other }: Companies): Promise<People> {
  const origin = new URL(url).origin
  const post = async (path: string, body: object, headers: Record<string, string> = { origin }) => {
    const answer = await fetch(url + prefix + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return { answer, body: (await answer.json()) as Record<string, string> }
  }
  const asToken = bearer(admin_token)
  const secretOf = (link = '') => link.slice(link.indexOf('#') + 1)
  const invite = async (email: string, role: string, company_id?: string) =>
    secretOf((await post('/people/invite', { email, role, company_id }, asToken)).body.invitation_url)
  const signIn = async (email: string): Promise<SessionHeaders> => {
    const { answer, body } = await post('/sign-in', { email, password })
    return { origin, cookie: answer.headers.getSetCookie()[0]!.split(';')[0]!, 'x-csrf-token': body.csrf_token! }
  }
  const join = async (email: string, role: string, company_id?: string) => {
    await post('/invitations/accept', { token: await invite(email, role, company_id), password })
    return signIn(email)
  }
  const ada = await join('ada@example.com', 'operator')
  const privacy = await join('privacy@example.com', 'privacy', tenant.company_id)
  const lastOwner = await join('owner@example.com', 'owner', other.company_id)
  const lowering = await invite('owner@example.com', 'analyst', other.company_id)
  const bob = await join('bob@example.com', 'operator')
  const { secret = '' } = (await post('/me/totp', {}, bob)).body
  const codeIn = (ms: number) =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + ms })
  await post('/me/totp/confirm', { code: codeIn(-30_000) }, bob)
  const [half, slow] = [await signIn('bob@example.com'), await signIn('bob@example.com')]
  const [left, slowed] = [await signIn('ada@example.com'), await signIn('ada@example.com')]
  const carol = await join('carol@example.com', 'operator')
  const offer = (await post('/me/totp', {}, carol)).body.secret ?? ''
  const offeredCode = () => new TOTP({ secret: Secret.fromBase32(offer) }).generate()
  const reset = secretOf((await post('/people/reset', { email: 'owner@example.com' }, asToken)).body.reset_url)
  const { sessions } = (await (await fetch(`${url}${prefix}/me/sessions`, { headers: ada })).json()) as {
    sessions: { session_id: string; current: boolean }[]
  }
  const fresh = await invite('fresh@example.com', 'operator')
  const known = await invite('owner@example.com', 'operator')

  const shot = (route: string, code: string, headers: object, body?: unknown, path?: string): Shot => {
    const [method, template = ''] = route.split(' ')
    return {
      ...{ route: `${method} ${prefix}${template}`, code, path: prefix + (path ?? template), headers: { ...headers } },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    }
  }
  const malformed = (route: string, headers: object, body: object = { more: 1 }) => [
    ...[shot(route, 'bad_json', headers, '['), shot(route, 'invalid_field', headers, body)],
  ]
  const repeated = (times: number, make: () => Shot) => Array.from({ length: times }, make)
  const guest = { origin }
  const insecure = { host: 'panel.example.com', origin: 'http://panel.example.com' }
  const owner = { email: 'owner@example.com', company_id: other.company_id }
  const doors = [
    ['POST /sign-in', { email: 'a@example.com', ...wrong }],
    ['POST /sign-in/second-factor', { code: '123456' }],
    ['POST /invitations/accept', { token: 'none', password }],
    ['POST /resets/use', { token: 'none', password }],
  ] as const
  const failures = limits.sign_in_failures_free
  return {
    privacy,
    shots: [
      ...['invite', 'change', 'remove', 'reset'].flatMap((act) => malformed(`POST /people/${act}`, asToken)),
      ...['invite', 'change'].flatMap((act) => [
        shot(`POST /people/${act}`, 'unknown_company', asToken, {
          email: 'x@example.com',
          role: 'admin',
          company_id: 'none',
        }),
        shot(`POST /people/${act}`, 'unknown_app', asToken, { ...owner, role: 'admin', app_ids: ['none'] }),
      ]),
      shot('POST /people/invite', 'ok', asToken, { email: 'x@example.com', role: 'operator' }),
      shot('GET /people', 'ok', asToken),
      shot('GET /people', 'unknown_company', asToken, undefined, '/people?company_id=none'),
      shot('GET /people', 'invalid_field', asToken, undefined, `/people?company_id=${'x'.repeat(65)}`),
      shot('POST /people/change', 'unknown_person', asToken, { ...owner, email: 'none@example.com', role: 'admin' }),
      shot('POST /people/change', 'last_of_role', asToken, { ...owner, role: 'admin' }),
      shot('POST /people/change', 'ok', asToken, {
        email: 'privacy@example.com',
        role: 'privacy',
        company_id: tenant.company_id,
      }),
      shot('POST /people/remove', 'unknown_company', asToken, { ...owner, company_id: 'none' }),
      shot('POST /people/remove', 'unknown_person', asToken, { ...owner, email: 'none@example.com' }),
      shot('POST /people/remove', 'last_of_role', asToken, owner),
      shot('POST /invitations/accept', 'last_of_role', lastOwner, { token: lowering }),
      shot('POST /people/remove', 'ok', asToken, { email: 'x@example.com' }),
      shot('POST /people/reset', 'unknown_person', asToken, { email: 'none@example.com' }),
      shot('POST /people/reset', 'ok', asToken, { email: 'ada@example.com' }),
      shot('GET /attention', 'ok', ada),
      shot('GET /audit-log', 'ok', asToken),
      shot('GET /audit-log', 'ok', asToken, undefined, '/audit-log?format=csv'),
      shot('GET /audit-log', 'invalid_field', asToken, undefined, '/audit-log?limit=0'),
      shot('GET /audit-log', 'unknown_company', asToken, undefined, '/audit-log?company_id=none'),
      ...doors.flatMap(([route, body]) => [
        shot(route, 'forged_request', {}, body),
        shot(route, 'insecure_address', insecure, body),
        { ...shot(route, 'body_too_large', guest), announced_bytes: limits.fx_csv_bytes_max + 1 },
        ...malformed(route, guest),
      ]),
      shot('POST /sign-in', 'ok', guest, { email: 'ada@example.com', password }),
      ...repeated(failures, () =>
        shot('POST /sign-in', 'sign_in_failed', guest, { email: 'none@example.com', ...wrong }),
      ),
      {
        ...shot('POST /sign-in', 'rate_limited', guest, { email: 'none@example.com', ...wrong }),
        again_after: 'sign_in_failed',
      },
      shot('POST /sign-in/second-factor', 'session_ended', guest, { code: '123456' }),
      shot('POST /sign-in/second-factor', 'wrong_code', half, { code: 'nothing' }),
      { ...shot('POST /sign-in/second-factor', 'ok', half), body: () => JSON.stringify({ code: codeIn(0) }) },
      ...repeated(failures, () => shot('POST /sign-in/second-factor', 'wrong_code', slow, { code: 'nothing' })),
      { ...shot('POST /sign-in/second-factor', 'rate_limited', slow, { code: 'nothing' }), again_after: 'wrong_code' },
      shot('POST /invitations/accept', 'unknown_one_time_link', guest, { token: 'none', password }),
      shot('POST /invitations/accept', 'sign_in_required', guest, { token: known, password }),
      shot('POST /invitations/accept', 'ok', guest, { token: fresh, password }),
      shot('POST /resets/use', 'unknown_one_time_link', guest, { token: 'none', password }),
      shot('POST /resets/use', 'ok', guest, { token: reset, password }),
      shot('GET /me', 'ok', ada),
      shot('GET /me/sessions', 'ok', ada),
      shot('POST /me/sessions/{id}/revoke', 'unknown_session', ada, undefined, '/me/sessions/none/revoke'),
      shot('POST /me/confirm', 'ok', ada, { password }),
      shot('POST /me/totp', 'ok', ada),
      shot('POST /me/totp/disable', 'ok', ada),
      ...['POST /me/confirm', 'POST /me/password', 'POST /me/totp/confirm'].flatMap((route) => malformed(route, ada)),
      shot('POST /me/totp/confirm', 'wrong_code', ada, { code: 'nothing' }),
      ...repeated(failures - 1, () => shot('POST /me/totp/confirm', 'wrong_code', ada, { code: 'nothing' })),
      { ...shot('POST /me/totp/confirm', 'rate_limited', ada, { code: 'nothing' }), again_after: 'wrong_code' },
      shot('POST /me/confirm', 'sign_in_failed', slowed, wrong),
      ...repeated(failures - 1, () =>
        shot('POST /me/password', 'sign_in_failed', slowed, { ...wrong, new_password: `${password} 2` }),
      ),
      {
        ...shot('POST /me/password', 'rate_limited', slowed, { ...wrong, new_password: `${password} 2` }),
        again_after: 'sign_in_failed',
      },
      { ...shot('POST /me/confirm', 'rate_limited', slowed, wrong), again_after: 'sign_in_failed' },
      shot('POST /sign-out', 'ok', left),
      shot(
        'POST /me/sessions/{id}/revoke',
        'ok',
        ada,
        undefined,
        `/me/sessions/${sessions.find(({ current }) => !current)?.session_id}/revoke`,
      ),
      shot('POST /me/password', 'ok', ada, { password, new_password: `${password} 2` }),
      { ...shot('POST /me/totp/confirm', 'ok', carol), body: () => JSON.stringify({ code: offeredCode() }) },
    ],
  }
}
