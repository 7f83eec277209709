import { hash, timingSafeEqual } from 'node:crypto'
import { CodedError } from '@tributary/contracts/errors'
import { bearerToken } from '@tributary/service-kit/http'
import type { FastifyRequest } from 'fastify'

/** A hook that lets only the admin token pass. Both sides are hashed, so neither length nor content shows in the time. */
export function requireAdmin(admin_token: string): (request: FastifyRequest) => Promise<void> {
  // An empty token would be a token that anybody can guess.
  if (admin_token === '') throw new Error('The admin API needs a token: set TRIBUTARY_ADMIN_TOKEN.')
  const expected = hash('sha256', admin_token, 'buffer')
  return async (request) => {
    const token = bearerToken(request.headers.authorization)
    if (!timingSafeEqual(hash('sha256', token, 'buffer'), expected)) {
      throw new CodedError('invalid_admin_token', { headers: { 'www-authenticate': 'Bearer' } })
    }
  }
}
