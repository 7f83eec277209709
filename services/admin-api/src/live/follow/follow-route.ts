import { addRoute } from '@tributary/admin-http/add-route'
import { getApp } from '@tributary/admin-http/authorize'
import { clicksKey, followed_key } from '@tributary/contracts/admin/live/feed'
import { type FollowedClick, followRoutes } from '@tributary/contracts/admin/live/follow'
import { CodedError, rateLimited } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import { createFeedReaders } from '../feed-readers.ts'
import { endAfter, type LiveDeps, type LiveParts, mayReadRaw, send } from '../stream-answer.ts'
import type { Stream } from '../streams.ts'
import { toMessage } from '../viewer.ts'
import { createFollow, type Follow } from './follow.ts'
import { createLooks } from './looks.ts'

/** `GET /apps/:app_id/follow`: what becomes of an install, or of the next click of a link. */
export function addFollowRoute(app: FastifyInstance, deps: LiveDeps, { apps, openStream }: LiveParts): void {
  const { pool, keyValue, clickhouse, now, elapsed } = deps
  const toShown = (click: FollowedClick) => click
  const links = createFeedReaders({ keyValue, ring: followed_key, ringOf: clicksKey, toShown })
  const follows = new Set<Follow>()
  const looks = createLooks(clickhouse, follows)
  app.addHook('preClose', async () => {
    links.close()
    looks.close()
  })

  addRoute(app, followRoutes.followInApp, async ({ query }, request, reply) => {
    const { app_id, company_id } = await getApp(pool, request)
    const { install_uuid = null, link_id = null, seconds = limits.follow_seconds_max } = query
    if ((install_uuid === null) === (link_id === null))
      throw new CodedError('invalid_field', { field: 'link_id', message: 'Give either install_uuid or link_id.' })
    const store_id = await getStoreId(pool, app_id, link_id)
    assertRoom(follows, company_id)
    const stream = openStream(request, reply, company_id)
    const full = mayReadRaw(request, { app_id, company_id })
    const named = { app_id, company_id, store_id, since_ms: now() }
    const follow = createFollow({ ...named, install_uuid, full, elapsed, outlet: stream })
    follows.add(follow)
    stream.onEnd(() => follows.delete(follow))
    if (seconds !== 0) {
      stream.onEnd(await apps.watch({ id: app_id, company_id }, follow.events))
      if (link_id !== null) stream.onEnd(await links.watch({ id: link_id, company_id }, follow.clicks))
      sayWhenWatched(stream)
    }
    endAfter(stream, seconds)
    return send(reply, stream)
  })
}

/** Gateways look for what is watched each `live_watch_ms`; what comes in before may be missed. */
function sayWhenWatched(stream: Stream): void {
  const timer = setTimeout(() => stream.write(toMessage({ kind: 'following' })), 2 * limits.live_watch_ms)
  stream.onEnd(() => clearTimeout(timer))
}

function assertRoom(follows: ReadonlySet<Follow>, company_id: string): void {
  const of_company = [...follows].filter((follow) => follow.company_id === company_id)
  if (follows.size >= limits.follow_streams_max || of_company.length >= limits.follow_streams_of_company_max)
    throw rateLimited(1000)
}

/** The App Store id whose postbacks an app has; null for none. Throws `unknown_link` for a link that the app does not have. */
async function getStoreId(pool: Pool, app_id: string, link_id: string | null): Promise<string | null> {
  const { rows } = await pool.query<{ store_id: string | null; link_id: string | null }>(
    `SELECT CASE WHEN a.platform = 'ios' AND a.owns_store_id THEN a.store_id END AS store_id, l.link_id
     FROM apps a LEFT JOIN links l ON l.app_id = a.app_id AND l.link_id = $2 WHERE a.app_id = $1`,
    [app_id, link_id],
  )
  if (link_id !== null && rows[0]?.link_id !== link_id) throw new CodedError('unknown_link')
  return rows[0]?.store_id ?? null
}
