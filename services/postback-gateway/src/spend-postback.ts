import { rateLimited } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { addressBlock } from '@tributary/contracts/networks'
import type { CountersBreaker } from '@tributary/tenancy/quota/counters-breaker'
import type { FastifyRequest } from 'fastify'
import type { PostbackGatewayDeps } from './deps.ts'

/**
 * Makes an `onRequest` hook that uses up one postback of the client's address, before a byte of the body is read. Throws
 * `rate_limited`. Both protocols and all gateways count together. While the counters are away nobody is limited.
 */
export const createSpendPostback =
  ({ keyValue }: Pick<PostbackGatewayDeps, 'keyValue'>, counters: CountersBreaker) =>
  async (request: FastifyRequest): Promise<void> => {
    const key = `postbacks:${addressBlock(request.client_ip)}`
    const spent = await counters(() => keyValue.hitWindow(key, limits.postbacks_max, limits.postbacks_window_ms))
    if (spent === null || spent.allowed) return
    throw rateLimited(spent.retry_after_ms)
  }
