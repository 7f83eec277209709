import { hash, timingSafeEqual } from 'node:crypto'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { addressBlock } from '@tributary/contracts/networks'
import { bearerToken } from '@tributary/service-kit/http/bearer-token'
import type { CountRefusal } from '@tributary/service-kit/http/counted-log'
import type { FastifyRequest } from 'fastify'

/** How a request holds the admin token, and what a browser is asked for. */
interface TokenForm {
  /** Throws `missing_bearer_token`. */
  readToken(authorization: string | undefined): string
  challenge: string
}

const asBearer: TokenForm = { readToken: bearerToken, challenge: 'Bearer' }

/** For pages that only show something: a browser asks its user for the token, as the password of any name. */
export const asPassword: TokenForm = {
  challenge: 'Basic realm="The password is the admin token", charset="UTF-8"',
  readToken(authorization) {
    const given = /^Basic (\S+)$/.exec(authorization ?? '')?.[1]
    if (given === undefined) {
      throw new CodedError('missing_bearer_token', { headers: { 'www-authenticate': asPassword.challenge } })
    }
    return Buffer.from(given, 'base64')
      .toString()
      .replace(/^[^:]*:/, '')
  },
}

/**
 * Makes the check that lets only the admin token pass. Both tokens are hashed before they are compared, so the time tells
 * neither length nor content. Beyond `limits`, wrong tokens of one address or of all addresses are answered 429. The right
 * one passes even then: no rate of guesses finds 32 characters, and guessing must not lock the operator out.
 */
export function requireAdmin(
  admin_token: string,
  now: () => number,
  countRefusal: CountRefusal,
  { readToken, challenge }: TokenForm = asBearer,
): (request: FastifyRequest) => void {
  // A short token would be a token that anybody can guess.
  if (admin_token.length < limits.admin_token_chars_min) throw new Error('TRIBUTARY_ADMIN_TOKEN is too short.')
  const expected = hash('sha256', admin_token, 'buffer')
  const countGuess = guessCounter(now)
  return (request) => {
    const token = readToken(request.headers.authorization)
    if (timingSafeEqual(hash('sha256', token, 'buffer'), expected)) return
    countRefusal({ ip: request.client_ip })
    const wait_ms = countGuess(addressBlock(request.client_ip))
    if (wait_ms === 0) throw new CodedError('invalid_admin_token', { headers: { 'www-authenticate': challenge } })
    throw new CodedError('rate_limited', { headers: { 'retry-after': String(Math.ceil(wait_ms / 1000)) } })
  }
}

/** Counts wrong tokens by the minute. Returns 0, or how long an address that sends too many has to wait. */
function guessCounter(now: () => number): (ip: string) => number {
  const { admin_guesses_of_address_max, admin_guesses_max, admin_guesses_window_ms } = limits
  const byAddress = new Map<string, number>() // holds `admin_guesses_max` addresses at most
  let total = 0
  let until_ms = 0
  return (ip) => {
    const now_ms = now()
    // More than a window is left after a clock that was ahead.
    if (now_ms >= until_ms || until_ms - now_ms > admin_guesses_window_ms) {
      byAddress.clear()
      total = 0
      until_ms = now_ms + admin_guesses_window_ms
    }
    const own = byAddress.get(ip) ?? 0
    if (total >= admin_guesses_max || own >= admin_guesses_of_address_max) return until_ms - now_ms
    byAddress.set(ip, own + 1)
    total += 1
    return 0
  }
}
