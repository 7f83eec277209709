import { hash, timingSafeEqual } from 'node:crypto'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { addressBlock } from '@tributary/service-kit/address-block'
import type { CountedLog } from '@tributary/service-kit/counted-log'
import { bearerToken } from '@tributary/service-kit/http'
import type { FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** True once the admin token was right. */
    is_admin: boolean
  }
}

/**
 * A hook that lets only the admin token pass. Both sides are hashed, so neither length nor content shows in the time.
 * Wrong tokens beyond `limits` are answered 429, of one address and of all. The right one passes even then: no rate of
 * guesses finds 32 characters, and whoever guesses must not be able to lock the operator out.
 */
export function requireAdmin(
  admin_token: string,
  now: () => number,
  refusals: Pick<CountedLog, 'count'>,
): (request: FastifyRequest) => Promise<void> {
  // A short token would be a token that anybody can guess.
  if (admin_token.length < limits.admin_token_chars_min) throw new Error('TRIBUTARY_ADMIN_TOKEN is too short.')
  const expected = hash('sha256', admin_token, 'buffer')
  const countGuess = guessCounter(now)
  return async (request) => {
    const token = bearerToken(request.headers.authorization)
    request.is_admin = timingSafeEqual(hash('sha256', token, 'buffer'), expected)
    if (request.is_admin) return
    refusals.count({ ip: request.client_ip })
    const wait_ms = countGuess(addressBlock(request.client_ip))
    if (wait_ms === 0) throw new CodedError('invalid_admin_token', { headers: { 'www-authenticate': 'Bearer' } })
    throw new CodedError('rate_limited', { headers: { 'retry-after': String(Math.ceil(wait_ms / 1000)) } })
  }
}

/** Counts wrong tokens by the minute. Gives 0, or how long an address that sends too many has to wait. */
function guessCounter(now: () => number): (ip: string) => number {
  const { admin_guesses_of_address_max, admin_guesses_max, admin_guesses_window_ms } = limits
  const ofAddress = new Map<string, number>() // holds `admin_guesses_max` addresses at most
  let all = 0
  let until_ms = 0
  return (ip) => {
    const now_ms = now()
    if (now_ms >= until_ms) {
      ofAddress.clear()
      all = 0
      until_ms = now_ms + admin_guesses_window_ms
    }
    const own = ofAddress.get(ip) ?? 0
    if (all >= admin_guesses_max || own >= admin_guesses_of_address_max) return until_ms - now_ms
    ofAddress.set(ip, own + 1)
    all += 1
    return 0
  }
}
