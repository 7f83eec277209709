import type { FollowedClick } from '@tributary/contracts/admin/live/follow'
import type { Click, FilteredReason } from '@tributary/contracts/attribution/click'
import { limits } from '@tributary/contracts/limits'
import { deviceHashes } from '@tributary/domain/attribute/device-ids'
import { type Agent, readAgent } from '@tributary/domain/link/agent'
import type { MintedClick } from '@tributary/domain/link/click-id'
import { type ClickQuery, readClickQuery } from '@tributary/domain/link/click-query'
import type { Visitor } from '@tributary/domain/link/redirect'
import type { AddressFacts } from '@tributary/geo/geo'
import type { TrackingLink } from '@tributary/tenancy/attribution/links'
import type { FastifyRequest } from 'fastify'
import { isbot } from 'isbot'
import { LRUCache } from 'lru-cache'
import type { LinkGatewayDeps } from './deps.ts'

/** All that a request tells of who clicked. */
export interface Visit {
  ip: string
  user_agent: string
  is_bot: boolean
  /** The browser loads the page before its user asks for it, or shows it small. */
  is_prefetch: boolean
  /** False for what a page loads by itself, such as an image or a frame. Browsers tell it over https alone; bots never do. */
  can_be_navigation: boolean
  agent: Agent
  query: ClickQuery
  address: AddressFacts
}

/** Programs that fetch a link to show what is behind it, and that `isbot` lets through. */
const previews = /^Viber\/|Microsoft Office|\bpreview\b|unfurl|thirdLandingPageFeInfra/i

/** Headers by which browsers name a prefetch, today and formerly (docs/rules.md#stopped-clicks). */
const purpose_headers = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'] as const
const prefetch = /prefetch|prerender|preview/i

type ReadAgent = Pick<Visit, 'is_bot' | 'agent'>

/** Makes the function that reads a request. It works out each user agent once: most people share a few of them. */
export function createReadVisit(geo: LinkGatewayDeps['geo']): (request: FastifyRequest) => Visit {
  const known = new LRUCache<string, ReadAgent>({ max: limits.user_agents_remembered_max })
  return (request) => {
    const ip = request.client_ip
    const sent = request.headers['user-agent'] ?? ''
    const user_agent = sent.slice(0, limits.stored_header_chars_max).toWellFormed()
    const read = known.get(user_agent) ?? meaningOf(user_agent)
    // A part of a longer header would keep all of it in memory.
    if (sent.length <= limits.stored_header_chars_max) known.set(user_agent, read)
    const at = request.url.indexOf('?')
    const query = readClickQuery(at === -1 ? '' : request.url.slice(at + 1))
    return { ip, user_agent, ...read, ...purposeOf(request), query, address: geo.lookUp(ip) }
  }
}

function purposeOf({ headers }: FastifyRequest): Pick<Visit, 'is_prefetch' | 'can_be_navigation'> {
  const destination = headers['sec-fetch-dest']
  return {
    is_prefetch: purpose_headers.some((name) => prefetch.test(String(headers[name] ?? ''))),
    can_be_navigation: destination === undefined || destination === 'document',
  }
}

/** A request without a user agent comes from no browser, so it counts as one of a bot. */
const meaningOf = (user_agent: string): ReadAgent => ({
  is_bot: user_agent.trim() === '' || isbot(user_agent) || previews.test(user_agent),
  agent: readAgent(user_agent),
})

/** The same as the pure rules see it. */
export const visitorOf = ({ is_bot, agent, query, address }: Visit): Visitor => ({
  agent: is_bot ? 'bot' : agent.platform,
  datacenter: address.datacenter,
  country: address.country,
  mobile_only: query.mobile_only,
})

/** The record of a click. */
export function clickOf(
  link: TrackingLink,
  visit: Visit,
  minted: MintedClick,
  filtered_reason: FilteredReason | null,
): Click {
  const { company_id, app_id, link_id, partner, campaign, ad_group, creative, deep_link, lookback_hours } = link
  const { mobile_only: _, device, ...values } = visit.query
  const { platform, os_major, model } = visit.agent
  return {
    ...{ v: 1, ...minted, company_id, app_id, link_id, partner, campaign, ad_group, creative },
    ...{ ...values, deep_link, lookback_hours, filtered_reason },
    ...{ ip: visit.ip, country: visit.address.country, user_agent: visit.user_agent },
    ...{ os: platform === 'desktop' ? null : platform, os_major, model },
    device_hashes: deviceHashes(device, link.salt),
  }
}

/** The message to a person who follows the link of a click. */
export function followedClick(
  { agent, query, address }: Visit,
  fate: Pick<FollowedClick, 'at_ms' | 'click_id' | 'stopped'>,
): FollowedClick {
  const os = agent.platform === 'desktop' ? null : agent.platform
  const ext_click_id = query.ext_click_id?.slice(0, limits.follow_ext_click_id_chars_max).toWellFormed() ?? null
  return { kind: 'click', ...fate, country: address.country, os, ext_click_id }
}
