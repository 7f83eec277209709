import { z } from 'zod'
import { limits } from '../../limits.ts'
import type { Routes } from '../../routes/route.ts'
import { text } from '../admin-fields.ts'
import { email } from './people.ts'

/** A new password; the service also refuses common ones. */
export const newPassword = z
  .string()
  .min(limits.password_chars_min)
  .max(limits.password_chars_max)
  .describe('At least 12 characters, and none that is common.')
/** A password that is only compared. */
export const givenPassword = z.string().min(1).max(limits.password_chars_max)
/** Six digits of an authenticator, or a recovery code. */
export const code = z.string().trim().min(6).max(40)
const secret = z.string().min(1).max(100).describe('What follows `#` in the address of the link.')

const SignIn = z.strictObject({ email: text(limits.email_chars_max).trim().min(1), password: givenPassword })
const SecondFactor = z.strictObject({ code })
const AcceptInvitation = z.strictObject({
  token: secret,
  email: email.optional().describe('For the first person of an installation; an invitation names its own.'),
  password: newPassword.optional().describe('For a new account.'),
})
const UseReset = z.strictObject({ token: secret, password: newPassword })

const SignedIn = z.object({
  next: z.enum(['done', 'second_factor']).describe('`second_factor`: send a code within 5 minutes.'),
  csrf_token: z.string().describe('`X-Csrf-Token` of every change in this session.'),
})
export type SignedIn = z.infer<typeof SignedIn>
const Accepted = z.object({ email: z.string(), next: z.enum(['sign_in', 'done']) })
export type Accepted = z.infer<typeof Accepted>

const csrf_token = 'hO8WQ0b1'
const where =
  'The request needs the `Origin` of the panel. Over https the session is a `__Host-` cookie; over http sign-in works on a loopback address alone.'
const signedIn = (next: SignedIn['next']) => ({
  200: { schema: { SignedIn }, description: 'The session is in a cookie.', example: { next, csrf_token } },
})
const guessed = ['rate_limited', 'insecure_address'] as const

/** The routes that need no session, or one that waits for its second factor. */
export const signInRoutes = {
  signIn: {
    method: 'POST',
    path: '/admin/api/v1/sign-in',
    auth: 'sign_in',
    tag: 'Admin',
    summary: 'Sign in with a password',
    description: `${where} Wrong passwords slow the account for the address that sends them, for growing times.`,
    body: {
      schema: { SignIn },
      examples: { example: { email: 'ada@example.com', password: 'the password of Ada' } },
    },
    answers: signedIn('second_factor'),
    errors: ['sign_in_failed', 'password_sign_in_off', ...guessed],
  },
  secondFactor: {
    method: 'POST',
    path: '/admin/api/v1/sign-in/second-factor',
    auth: 'sign_in',
    tag: 'Admin',
    summary: 'Complete a sign-in',
    description: 'Takes the six digits of an authenticator or a recovery code; each counts once.',
    body: { schema: { SecondFactor }, examples: { example: { code: '123456' } } },
    answers: signedIn('done'),
    errors: ['session_ended', 'wrong_code', ...guessed],
  },
  acceptInvitation: {
    method: 'POST',
    path: '/admin/api/v1/invitations/accept',
    auth: 'sign_in',
    tag: 'Admin',
    summary: 'Accept an invitation',
    description:
      'Makes the account with the password. Where the account exists, its own session must be open, and no password is taken: it answers `sign_in_required` until then, and the link stays good.',
    body: {
      schema: { AcceptInvitation },
      examples: { example: { token: 'inv_...', password: 'the password of Ada' } },
    },
    answers: {
      200: {
        schema: { Accepted },
        description: '`sign_in`: the account is made. `done`: the role was added.',
        example: { email: 'ada@example.com', next: 'sign_in' } satisfies Accepted,
      },
    },
    errors: ['unknown_one_time_link', 'sign_in_required', 'last_of_role', 'password_sign_in_off', 'insecure_address'],
  },
  useReset: {
    method: 'POST',
    path: '/admin/api/v1/resets/use',
    auth: 'sign_in',
    tag: 'Admin',
    summary: 'Set a new password by a reset link',
    description: 'Ends every session of the person, and unlinks the identity provider.',
    body: { schema: { UseReset }, examples: { example: { token: 'rst_...', password: 'the new password of Ada' } } },
    answers: {
      200: {
        schema: { Accepted },
        description: 'Sign in with the new password.',
        example: { email: 'ada@example.com', next: 'sign_in' } satisfies Accepted,
      },
    },
    errors: ['unknown_one_time_link', 'password_sign_in_off', 'insecure_address'],
  },
} satisfies Routes
