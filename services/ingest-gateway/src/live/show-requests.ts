import { limits } from '@tributary/contracts/limits'
import type { FastifyInstance } from 'fastify'
import type { GatewayDeps } from '../deps.ts'
import { createKeptRefusals } from './kept-refusals.ts'
import { createLiveFeed } from './live-feed.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The error that is answered. */
    answered_error: Error | null
  }
}

type ShowDeps = Pick<GatewayDeps, 'keyValue' | 'now' | 'registry' | 'logger'>

/**
 * Shows the requests of apps to who watches them, and keeps their last refusals. All of it happens after the answer is out; a store
 * that is slow or away neither delays nor changes one.
 */
export function showRequests(app: FastifyInstance, { keyValue, now, registry, logger }: ShowDeps): void {
  const feed = createLiveFeed({ keyValue, registry, elapsed: () => performance.now() })
  const refusals = createKeptRefusals({ keyValue })
  const timers = [
    setInterval(() => void feed.look(), limits.live_watch_ms),
    setInterval(() => void feed.flush(), limits.live_flush_ms),
    setInterval(() => void refusals.flush(), limits.refusals_flush_ms),
  ]
  for (const timer of timers) timer.unref()
  app.addHook('onClose', async () => {
    for (const timer of timers) clearInterval(timer)
  })
  app.decorateRequest('answered_error', null)
  app.addHook('onError', (request, _reply, error, done) => {
    request.answered_error = error
    done()
  })
  app.addHook('onResponse', (request, _reply, done) => {
    done()
    // null when the app refused the request before the first hook
    const { app_id, company_id, code, rejected } = request.ingest ?? {}
    if (app_id === undefined || company_id === undefined) return
    const answered = { app_id, company_id, request, error: request.answered_error, at_ms: now() }
    try {
      feed.note(answered)
      if (code !== 'ok' || rejected!.size > 0) refusals.note(answered)
    } catch (err) {
      logger.warn({ err, app_id }, 'a request could not be shown') // a fault of the view must not be one of the door
    }
  })
}
