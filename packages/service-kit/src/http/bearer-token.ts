import { CodedError } from '@tributary/contracts/errors'

/** The token of `Authorization: Bearer <token>`. Throws `missing_bearer_token` (docs/rules.md#credentials). */
export function bearerToken(authorization: string | undefined): string {
  const token = /^Bearer (\S+)$/.exec(authorization ?? '')?.[1]
  if (token === undefined) {
    const message = 'The header Authorization must be: Bearer, a space, and the key or token.'
    throw new CodedError('missing_bearer_token', { message, headers: { 'www-authenticate': 'Bearer' } })
  }
  return token
}
