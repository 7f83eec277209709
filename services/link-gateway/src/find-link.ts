import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { addressBlock } from '@tributary/contracts/networks'
import type { TrackingLink } from '@tributary/tenancy/attribution/links'
import { LRUCache } from 'lru-cache'
import type { LinkGatewayDeps } from './deps.ts'
import { rateLimited } from './guards.ts'

/**
 * Makes the function that gives the link of an address's request. Throws `not_found` for a link that is unknown or
 * disabled, and for one of a suspended company. An address that guesses too many gets `rate_limited` for a while: each
 * guess may cost a query. This is counted in each process by itself.
 */
export function createFindLink({
  links,
  now,
}: LinkGatewayDeps): (link_id: string, ip: string) => Promise<TrackingLink> {
  const guesses = new LRUCache<string, { count: number; ends_at_ms: number }>({
    max: limits.unknown_links_addresses_max,
  })

  return async (link_id, ip) => {
    const address = addressBlock(ip)
    const before = guesses.get(address)
    const made = before !== undefined && now() < before.ends_at_ms ? before : null
    if (made !== null && made.count >= limits.unknown_links_of_address_max) throw rateLimited(made.ends_at_ms - now())
    const link = await links.find(link_id)
    if (link?.enabled && link.company_status === 'active') return link
    const counted = made ?? { count: 0, ends_at_ms: now() + limits.unknown_links_window_ms }
    counted.count += 1
    guesses.set(address, counted)
    throw new CodedError('not_found')
  }
}
