import { z } from 'zod'
import { limits } from '../../limits.ts'
import type { Routes } from '../../routes/route.ts'
import { Done } from './own-account.ts'

const SignInWays = z.object({
  password: z.boolean().describe('`false`: `TRIBUTARY_PASSWORD_SIGN_IN=off`.'),
  oidc: z.boolean().describe('Whether an identity provider is set.'),
})
export type SignInWays = z.infer<typeof SignInWays>
const OidcBegun = z.object({ authorization_url: z.string().describe('Send the browser there within 10 minutes.') })

/** What the provider adds to the address; it may add more. */
const part = z.string().max(limits.oidc_answer_chars_max).optional()
const OidcAnswer = z.object({
  code: part.meta({ description: 'The authorization code.', example: 'SplxlOBeZQQYbYS6WxSbIA' }),
  state: part.meta({ description: 'As it was sent.', example: 'af0ifjsldkj' }),
  iss: part.meta({ description: 'The issuer (RFC 9207).', example: 'https://id.example.com' }),
  error: part.meta({ description: 'Why the provider refused.', example: 'access_denied' }),
})

const begun = {
  200: {
    schema: { OidcBegun },
    description: 'The address at the identity provider. A cookie binds its answer to this browser.',
    example: { authorization_url: 'https://id.example.com/authorize?client_id=tributary&state=af0ifjsldkj' },
  },
}
const away = ['oidc_off', 'oidc_unavailable'] as const

/** The routes of sign-in by an identity provider (OpenID Connect). */
export const oidcRoutes = {
  getSignInWays: {
    method: 'GET',
    path: '/admin/api/v1/sign-in',
    auth: 'sign_in',
    tag: 'Admin',
    summary: 'Ways to sign in',
    answers: {
      200: {
        schema: { SignInWays },
        description: 'What this installation takes.',
        example: { password: true, oidc: true } satisfies SignInWays,
      },
    },
    errors: ['insecure_address'],
  },
  beginOidcSignIn: {
    method: 'POST',
    path: '/admin/api/v1/sign-in/oidc',
    auth: 'sign_in',
    tag: 'Admin',
    summary: 'Begin a sign-in at the identity provider',
    description: 'Authorization code with PKCE. The request needs the `Origin` of the panel.',
    answers: begun,
    errors: [...away, 'insecure_address'],
  },
  answerOidc: {
    method: 'GET',
    path: '/admin/api/v1/sign-in/oidc/callback',
    auth: 'sign_in',
    tag: 'Admin',
    summary: 'Come back from the identity provider',
    description:
      'The redirect URI to register at the provider. Completes a sign-in, a link or a proof, once, in the browser that began it.',
    query: OidcAnswer,
    answers: {
      303: { description: 'The panel. The session is in a cookie; with a second factor it waits for the code.' },
    },
    errors: [
      ...(['oidc_failed', 'oidc_email_refused', 'oidc_no_role', 'oidc_off', 'oidc_not_linked', 'oidc_taken'] as const),
      ...(['oidc_unavailable', 'insecure_address'] as const),
    ],
  },
  linkOidc: {
    method: 'POST',
    path: '/admin/api/v1/me/oidc',
    auth: 'session',
    fresh: true,
    tag: 'Admin',
    summary: 'Link the identity provider to the own account',
    description: 'Needs the password of the last 15 minutes. Replaces a link to another identity of the provider.',
    answers: begun,
    errors: away,
  },
  unlinkOidc: {
    method: 'DELETE',
    path: '/admin/api/v1/me/oidc',
    auth: 'session',
    fresh: true,
    tag: 'Admin',
    summary: 'Unlink the identity provider from the own account',
    description:
      'Needs the password of the last 15 minutes. The password alone opens the account from then on. Ends all other sessions. Without a link nothing changes.',
    answers: {
      200: { schema: { Done }, description: 'No identity opens the account.', example: { done: true } },
    },
  },
  confirmByOidc: {
    method: 'POST',
    path: '/admin/api/v1/me/confirm/oidc',
    auth: 'session',
    tag: 'Admin',
    summary: 'Prove again who is there, by the identity provider',
    description: 'Asks the provider with `max_age=0`. Keys are minted for 15 minutes from then on.',
    answers: begun,
    errors: away,
  },
} satisfies Routes
