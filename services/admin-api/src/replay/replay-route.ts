import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { type ReplayProgress, storedDataRoutes } from '@tributary/contracts/admin/stored-data'
import { CodedError } from '@tributary/contracts/errors'
import { openTombstones } from '@tributary/erasure/tombstones'
import { recordAdminAction } from '@tributary/tenancy/companies/admin-audit'
import { listAppFacts } from '@tributary/tenancy/companies/tenants'
import type { FastifyInstance } from 'fastify'
import { addRoute } from '../add-route.ts'
import { adminRequest } from '../admin-request.ts'
import type { AdminApiDeps } from '../deps.ts'
import { replay } from './replay.ts'
import { createTally, type Tally } from './tally.ts'

/** Between two lines: no proxy takes the connection for idle. */
const progress_ms = 1000

/**
 * `POST /replays`: replays, and answers with a line of `ReplayProgress` a second, whose last says how it ended. It runs
 * as long as its request: a caller that goes away stops it, and so does the stop of the process.
 */
export function addReplayRoute(app: FastifyInstance, deps: AdminApiDeps): void {
  const { pool, now, logger } = deps
  const tombstones = openTombstones(deps)
  let running: AbortController | null = null
  app.addHook('preClose', async () => running?.abort())

  addRoute(app, storedDataRoutes.startReplay, async ({ body: asked }, request, reply) => {
    if (running !== null) throw new CodedError('replay_running')
    const stop = new AbortController()
    running = stop
    reply.raw.once('close', () => stop.abort())
    const end = () => {
      running = null
    }
    try {
      const apps = await listAppFacts(pool)
      const { app_id } = asked
      if (app_id !== undefined && !apps.has(app_id)) throw new CodedError('unknown_app', { field: 'app_id' })
      const action = { action: 'replay.start', subject: app_id ?? 'every app', detail: asked }
      await recordAdminAction(pool, adminRequest(request, now), action)
      const tally = createTally()
      const work = () => replay({ ...deps, tombstones }, asked, { apps, tally, signal: stop.signal })
      const facts = { ...asked, request_id: request.id }
      logger.info(facts, 'replay started')
      const started = performance.now()
      const tick = () => {
        tally.seconds = Math.floor((performance.now() - started) / 1000)
      }
      const ended = run(work, tally, stop.signal, (err) => {
        logger.error({ err, ...facts }, 'replay failed')
      }).finally(() => {
        end()
        tick()
        const { doubt: _, reached: __, ...totals } = tally
        logger.info({ ...facts, ...totals }, 'replay ended')
        const isWhole = asked.source === 'audit' && !asked.dry_run && !asked.since_ms && app_id === undefined
        if (isWhole && tally.state === 'done') deps.onFilled?.()
      })
      // Left open, the connection would hold up the stop of the process, which may begin meanwhile.
      reply.headers({ 'cache-control': 'no-store', connection: 'close' })
      return reply.type('application/x-ndjson; charset=utf-8').send(Readable.from(progressLines(tally, tick, ended)))
    } catch (error) {
      end()
      throw error
    }
  })
}

/** Never rejects: how it ended stands in the tally. */
async function run(work: () => Promise<void>, tally: Tally, stopped: AbortSignal, onError: (error: unknown) => void) {
  try {
    await work()
    tally.state = 'done'
  } catch (error) {
    tally.state = stopped.aborted ? 'stopped' : 'failed'
    if (stopped.aborted) return
    tally.error = error instanceof CodedError ? error.code : 'unavailable'
    onError(error)
  }
}

async function* progressLines(tally: Tally, tick: () => void, ended: Promise<void>): AsyncGenerator<string> {
  let over = false
  const end = ended.then(() => {
    over = true
  })
  for (;;) {
    const last = over
    tick()
    yield line(tally)
    if (last) return
    const waited = new AbortController()
    await Promise.race([end, pause(progress_ms, undefined, { signal: waited.signal }).catch(() => {})])
    waited.abort()
  }
}

const line = ({ doubt: _, reached: __, ...progress }: Tally): string =>
  `${JSON.stringify(progress satisfies ReplayProgress)}\n`
