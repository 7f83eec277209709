import { z } from 'zod'
import type { Routes } from '../../routes/route.ts'
import { created_at_ms, pathId } from '../admin-fields.ts'
import { Membership } from './roles.ts'
import { code, givenPassword, newPassword } from './sign-in.ts'

const Me = z.object({
  person_id: z.string(),
  email: z.string(),
  memberships: z.array(
    z.object({ ...Membership.shape, company_name: z.string().nullable().describe('null for an operator.') }),
  ),
  password: z.boolean().describe('`false`: the account signs in by the identity provider alone.'),
  oidc: z.boolean().describe('Whether an identity of the provider is linked.'),
  second_factor: z.boolean(),
  recovery_codes_left: z.number().int(),
  csrf_token: z.string(),
  public_url: z
    .string()
    .nullable()
    .describe('Where SDKs and backends send to (`TRIBUTARY_PUBLIC_URL`). null: the address of the panel.'),
  session_id: z.string(),
  fresh_until_ms: z.number().int().describe('Until then keys are minted without the password.'),
})
export type Me = z.infer<typeof Me>

const Session = z.object({
  session_id: z.string(),
  current: z.boolean(),
  began_at_ms: z.number().int(),
  seen_at_ms: z.number().int().describe('Its last request, to the minute.'),
  ip: z.string(),
  agent: z.string().describe('User-Agent of the browser.'),
})
export type Session = z.infer<typeof Session>

const ConfirmPassword = z.strictObject({ password: givenPassword })
const ChangePassword = z.strictObject({ password: givenPassword, new_password: newPassword })
const ConfirmTotp = z.strictObject({ code })
export const Done = z.object({ done: z.literal(true) })
const TotpOffered = z.object({ secret: z.string().describe('Base32.'), uri: z.string().describe('For a QR code.') })
const RecoveryCodes = z.object({
  recovery_codes: z.array(z.string()).describe('Each replaces a code of the authenticator once; shown here only.'),
})

const done = (description: string) => ({ 200: { schema: { Done }, description, example: { done: true } } })
const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'

/** The routes of a person's own account. */
export const ownAccountRoutes = {
  getMe: {
    method: 'GET',
    path: '/admin/api/v1/me',
    auth: 'session',
    tag: 'Admin',
    summary: 'Who is signed in',
    answers: {
      200: {
        schema: { Me },
        description: 'The person with all roles.',
        example: {
          ...{ person_id: 'per_1', email: 'ada@example.com', second_factor: true, recovery_codes_left: 10 },
          ...{ password: true, oidc: false },
          memberships: [{ role: 'owner', company_id: 'co_1', apps: null, company_name: 'Example Games' }],
          public_url: 'https://events.example.com',
          ...{ csrf_token: 'hO8WQ0b1', session_id: 'ses_1', fresh_until_ms: created_at_ms },
        } satisfies Me,
      },
    },
  },
  signOut: {
    method: 'POST',
    path: '/admin/api/v1/sign-out',
    auth: 'session',
    tag: 'Admin',
    summary: 'Sign out',
    answers: done('The session has ended.'),
  },
  confirmPassword: {
    method: 'POST',
    path: '/admin/api/v1/me/confirm',
    auth: 'session',
    tag: 'Admin',
    summary: 'Give the password again',
    description: 'Keys are minted for 15 minutes from then on.',
    body: { schema: { ConfirmPassword }, examples: { example: { password: 'the password of Ada' } } },
    answers: done('It was right.'),
    errors: ['sign_in_failed', 'rate_limited'],
  },
  changePassword: {
    method: 'POST',
    path: '/admin/api/v1/me/password',
    auth: 'session',
    tag: 'Admin',
    summary: 'Change the own password',
    description: 'Ends every other session of the person, and unlinks identities of the provider.',
    body: {
      schema: { ChangePassword },
      examples: { example: { password: 'the password of Ada', new_password: 'the new password of Ada' } },
    },
    answers: done('It was changed.'),
    errors: ['sign_in_failed', 'rate_limited'],
  },
  listSessions: {
    method: 'GET',
    path: '/admin/api/v1/me/sessions',
    auth: 'session',
    tag: 'Admin',
    summary: 'Own sessions',
    answers: {
      200: {
        schema: { SessionList: z.object({ sessions: z.array(Session) }) },
        description: 'The open ones, the newest first.',
        example: {
          sessions: [
            {
              ...{ session_id: 'ses_1', current: true, began_at_ms: created_at_ms, seen_at_ms: created_at_ms },
              ...{ ip: '192.0.2.7', agent: 'Mozilla/5.0' },
            },
          ],
        },
      },
    },
  },
  revokeSession: {
    method: 'POST',
    path: '/admin/api/v1/me/sessions/:id/revoke',
    auth: 'session',
    tag: 'Admin',
    summary: 'End an own session',
    description: 'Acts within a second.',
    params: pathId('session', 'ses_1'),
    answers: done('It has ended.'),
    errors: ['unknown_session'],
  },
  offerTotp: {
    method: 'POST',
    path: '/admin/api/v1/me/totp',
    auth: 'session',
    fresh: true,
    tag: 'Admin',
    summary: 'Begin a second factor',
    description:
      'Makes a secret for an authenticator (TOTP). It counts once a code was confirmed; the one before holds until then.',
    answers: {
      200: {
        schema: { TotpOffered },
        description: 'The secret, shown here only.',
        example: { secret, uri: `otpauth://totp/Tributary:ada%40example.com?issuer=Tributary&secret=${secret}` },
      },
    },
  },
  confirmTotp: {
    method: 'POST',
    path: '/admin/api/v1/me/totp/confirm',
    auth: 'session',
    fresh: true,
    tag: 'Admin',
    summary: 'Confirm a second factor',
    description: 'Each sign-in asks for a code from then on. The recovery codes from before end.',
    body: { schema: { ConfirmTotp }, examples: { example: { code: '123456' } } },
    answers: {
      200: {
        schema: { RecoveryCodes },
        description: 'The second factor is on.',
        example: { recovery_codes: ['JBSWY3DP-EHPK3PXP-JBSWY3DP'] },
      },
    },
    errors: ['wrong_code', 'rate_limited'],
  },
  disableTotp: {
    method: 'POST',
    path: '/admin/api/v1/me/totp/disable',
    auth: 'session',
    fresh: true,
    tag: 'Admin',
    summary: 'Remove the second factor',
    answers: done('A sign-in asks for the password alone.'),
  },
} satisfies Routes
