import { createSecretKey, type KeyObject } from 'node:crypto'
import type { FollowedClick } from '@tributary/contracts/admin/live/follow'
import type { Click, FilteredReason, StopReason } from '@tributary/contracts/attribution/click'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { Routes } from '@tributary/contracts/route'
import { signClickId } from '@tributary/domain/attribute/click-token'
import { createClickIds } from '@tributary/domain/link/click-id'
import { edgeFilter, plainStoreUrl, plainTarget, redirectOf } from '@tributary/domain/link/redirect'
import { noteSender } from '@tributary/gateway/observe-requests'
import type { TrackingLink } from '@tributary/tenancy/attribution/links'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { ClickFeed } from './click-feed.ts'
import type { ClickLog } from './click-log.ts'
import type { LinkGatewayDeps } from './deps.ts'
import { createFindLink } from './find-link.ts'
import { createGuards } from './guards.ts'
import type { UnwrittenClicks } from './unwritten-clicks.ts'
import { clickOf, createReadVisit, followedClick, type Visit, visitorOf } from './visit.ts'

const free = (name: string) =>
  z.string().optional().describe(`${name} Up to ${limits.click_value_chars_max} characters; longer values are cut.`)
const sub = free('Kept with the click; the record of the install that it brings shows it.')

export const linkRoutes = {
  followLink: {
    method: 'GET',
    path: '/l/:link_id',
    auth: 'public',
    tag: 'Links',
    summary: 'Follow a tracking link',
    description:
      'Records the click and sends the person to the store. Whatever stops a click (a bot, a datacenter, a country that the link does not allow, a blocked address, too many clicks of a network, a disabled link, a suspended company) leads to the plain store page, or else to the fallback, and the click never attributes. `HEAD` gets the plain store page too, and records nothing. A prefetch (`Sec-Purpose`, `Purpose`, `X-Purpose`, `X-Moz`) is 503 `unavailable` with `Cache-Control: no-store`, so that the browser asks again when the person taps. 404: an unknown link, or a honeypot. docs/links.md explains links to those who make them.',
    params: z.object({ link_id: z.string().meta({ example: 'mB3k9QxT2wLz' }) }),
    query: z.object({
      click_id: free("The partner's id of the click, stored as `ext_click_id`."),
      ...{ sub1: sub, sub2: sub, sub3: sub, sub4: sub, sub5: sub },
      mobile_only: z.literal('1').optional().describe('Desktops are dropped: 204, and no click.'),
      gaid: z.string().optional().describe("The device's GAID or its SHA-256 in hex; kept as a keyed hash."),
      idfa: z.string().optional().describe("The device's IDFA or its SHA-256 in hex; kept as a keyed hash."),
      idfv: z.string().optional().describe("The app's IDFV on the device, as `idfa`."),
      app_set_id: z.string().optional().describe("The device's app set id, as `gaid`."),
    }),
    answers: {
      204: { description: 'A desktop that `mobile_only=1` drops.' },
      302: { description: 'The store page or the fallback, in `Location`.' },
    },
    errors: ['not_found', 'internal_error', 'unavailable'],
  },
} satisfies Routes

export interface LinkRouteDeps extends LinkGatewayDeps {
  clicks: ClickLog
  feed: ClickFeed
  unwritten: UnwrittenClicks
}

/** GET and HEAD /l/:link_id. The numbers are those of the steps in docs/rules.md#tracking-links. */
export function linkRoute(app: FastifyInstance, deps: LinkRouteDeps): void {
  const { clicks, feed, unwritten, now } = deps
  const readVisit = createReadVisit(deps.geo)
  const findLink = createFindLink(deps)
  const guards = createGuards(deps)
  const mint = createClickIds(now)
  const keyOf = createKeyOf()

  const follow = async (request: FastifyRequest<{ Params: { link_id: string } }>, reply: FastifyReply) => {
    const visit = readVisit(request)
    const { ip } = visit
    const link = await findLink(request.params.link_id, visit)
    const { company_id } = link
    noteSender(request, link)
    const visitor = visitorOf(visit)
    const show = (stopped: FollowedClick['stopped'], click_id: string | null = null) =>
      feed.note(link.link_id, followedClick(visit, { at_ms: now(), click_id, stopped }))
    /** Leads the visitor on; nothing in the target attributes. */
    const lead = (agent = visitor.agent) => redirect(reply, plainTarget(link, agent))
    function stop(reason: StopReason) {
      show(reason)
      clicks.countStopped(reason)
      return lead()
    }

    if (request.method === 'HEAD') return lead('bot')
    if (visit.is_prefetch) {
      show('prefetch')
      clicks.countStopped('prefetch')
      throw askAgain()
    }
    const off = whyOff(link)
    if (off !== null) return stop(off)
    const filtered = edgeFilter(link, visitor) // 1.
    if (filtered !== null) {
      show(filtered)
      await recordFiltered(clickOf(link, visit, mint(), filtered))
      return lead()
    }
    const blocked = await guards.isBlocked(company_id, ip) // 2.
    if (link.honeypot) {
      show(trapOf(visit))
      await springTrap(visit, link, blocked)
      throw new CodedError('not_found')
    }
    if (blocked) return stop('blocked')
    if (!(await guards.takesClick(company_id, ip))) return stop('rate_limited') // 3.
    const minted = mint()
    const { location, filtered_reason } = redirectOf(
      link,
      visitor,
      signClickId(minted.click_id, keyOf(link.link_secret)),
    )
    show(filtered_reason, filtered_reason === null ? minted.click_id : null)
    if (location === null) return reply.status(204).headers(private_headers).send()
    await clicks.record(clickOf(link, visit, minted, filtered_reason)) // 4.
    return redirect(reply, location) // 5.
  }

  /**
   * A page of a stranger can have each of its visitors load a honeypot as an image. Such a hit blocks nobody. The first hit
   * of an address is always written, and later ones within the limit of filtered clicks.
   */
  async function springTrap(visit: Visit, link: TrackingLink, blocked: boolean): Promise<void> {
    const { can_be_navigation, ip } = visit
    const click = clickOf(link, visit, mint(), trapOf(visit))
    if (can_be_navigation) await guards.block(link.company_id, ip)
    if (can_be_navigation && !blocked) await clicks.record(unwritten.weigh(click))
    else await recordFiltered(click)
  }

  /** A network has so many rows of filtered clicks; the next row stands for the others too. */
  async function recordFiltered(click: Click): Promise<void> {
    if (await guards.takesFiltered(click.company_id, click.ip)) return clicks.record(unwritten.weigh(click))
    unwritten.add(click)
    clicks.countStopped('rate_limited')
  }
  app.route({ method: ['GET', 'HEAD'], url: linkRoutes.followLink.path, handler: follow })
}

const trapOf = ({ can_be_navigation }: Visit): FilteredReason => (can_be_navigation ? 'honeypot' : 'honeypot_embed')

/** Each click has an answer of its own, and the store does not learn where the link stood. */
const private_headers = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }

/** Throws `not_found` without a target, which only a link whose app lost its store page can lack. */
function redirect(reply: FastifyReply, location: string | null) {
  if (location === null) throw new CodedError('not_found')
  return reply
    .status(302)
    .headers({ ...private_headers, location })
    .send()
}

/** Why the owner of a link has no clicks on it counted; null when they are. A honeypot needs no store page to catch. */
function whyOff(link: TrackingLink): StopReason | null {
  if (!link.enabled) return 'disabled'
  if (link.company_status !== 'active') return 'suspended'
  return plainStoreUrl(link) === null && !link.honeypot ? 'no_store_page' : null
}

/** A browser could keep a redirect and use it for the real tap, which would lose its click. */
const askAgain = () =>
  new CodedError('unavailable', {
    message: 'A prefetch is no click. Ask again when the person follows the link.',
    headers: { 'cache-control': 'no-store' },
  })

/** Secrets as keys: a key is made ready once, while a Buffer costs five times the HMAC itself each time. */
function createKeyOf(): (secret: Buffer) => KeyObject {
  const keys = new WeakMap<Buffer, KeyObject>()
  return (secret) => {
    const key = keys.get(secret) ?? createSecretKey(secret)
    keys.set(secret, key)
    return key
  }
}
