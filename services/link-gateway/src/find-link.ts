import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { addressBlock } from '@tributary/contracts/networks'
import type { TrackingLink } from '@tributary/tenancy/attribution/links'
import { LRUCache } from 'lru-cache'
import type { LinkGatewayDeps } from './deps.ts'

/**
 * Makes the function that gives the link of an address's request. Throws `not_found` for a link that is unknown or
 * disabled, and for one of a suspended company. An address whose guesses cost `limits.unknown_links_of_address_max` queries
 * gets `not_found` without a query for a while, and follows links that are in memory as before. Each process counts by itself.
 */
export function createFindLink({
  links,
  now,
}: LinkGatewayDeps): (link_id: string, ip: string) => Promise<TrackingLink> {
  const guesses = new LRUCache<string, { count: number; ends_at_ms: number }>({
    max: limits.unknown_links_addresses_max,
  })
  function guessesOf(address: string) {
    const made = guesses.get(address)
    const left_ms = made === undefined ? 0 : made.ends_at_ms - now()
    // More than a window is left after a clock that was ahead.
    return left_ms > 0 && left_ms <= limits.unknown_links_window_ms ? made! : null
  }
  function countGuess(address: string) {
    const counted = guessesOf(address) ?? { count: 0, ends_at_ms: now() + limits.unknown_links_window_ms }
    counted.count += 1
    guesses.set(address, counted)
  }

  return async (link_id, ip) => {
    const address = addressBlock(ip)
    const costs_query = links.recall(link_id) === 'unasked'
    if (costs_query && (guessesOf(address)?.count ?? 0) >= limits.unknown_links_of_address_max)
      throw new CodedError('not_found')
    const link = await links.find(link_id)
    if (link?.enabled && link.company_status === 'active') return link
    if (link === null && costs_query) countGuess(address)
    throw new CodedError('not_found')
  }
}
