import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import {
  type AskedReplay,
  noProgress,
  type ReplayProgress,
  storedDataRoutes,
} from '@tributary/contracts/admin/stored-data'
import { CodedError } from '@tributary/contracts/errors'
import { type AwaitedState, askAwaited, awaitJob, leaveJob } from '@tributary/postgres/awaited-jobs'
import { inTransaction } from '@tributary/postgres/transaction'
import { recordAdminAction } from '@tributary/tenancy/companies/admin-audit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { look_pause_ms, unavailable, untilBegun } from '../asked-work.ts'
import type { AdminApiDeps } from '../deps.ts'

/** Between two lines: no proxy takes the connection for idle. */
const progress_ms = 1000

type ReplayRouteDeps = Pick<AdminApiDeps, 'pool' | 'now' | 'logger'>

/**
 * `POST /replays`: has the replayer replay, and answers with a line of `ReplayProgress` a second, whose last says how it ended.
 * It runs as long as its request: a caller that goes away stops it, and so does the stop of this process.
 */
export function addReplayRoute(app: FastifyInstance, deps: ReplayRouteDeps): void {
  const stop = new AbortController()
  app.addHook('preClose', async () => stop.abort(unavailable('admin-api ends.')))

  addRoute(app, storedDataRoutes.startReplay, async ({ body }, request, reply) => {
    const left = new AbortController()
    reply.raw.once('close', () => left.abort(unavailable('The caller left.')))
    const number = await askForReplay(deps, { ...body, request_id: request.id }, request)
    await untilBegun(deps, number, AbortSignal.any([stop.signal, left.signal]))
    // Left open, the connection would hold up the stop of the process, which may begin meanwhile.
    reply.headers({ 'cache-control': 'no-store', connection: 'close' })
    const lines = progressLines(deps, number, { stop: stop.signal, left: left.signal })
    return reply.type('application/x-ndjson; charset=utf-8').send(Readable.from(lines))
  })
}

/** The number of the work. */
const askForReplay = ({ pool, now }: ReplayRouteDeps, asked: AskedReplay, request: FastifyRequest) =>
  inTransaction(pool, async (client) => {
    const number = await askAwaited(client, 'replay', asked, now())
    if (number === null) throw new CodedError('replay_running')
    const { request_id: _, ...detail } = asked
    const { app_id } = detail
    if (app_id !== undefined) {
      const { rowCount } = await client.query('SELECT 1 FROM apps WHERE app_id = $1', [app_id])
      if (rowCount === 0) throw new CodedError('unknown_app', { field: 'app_id' })
    }
    const action = { action: 'replay.start', subject: app_id ?? 'every app', detail }
    await recordAdminAction(client, adminRequest(request, now), action)
    return number
  })

async function* progressLines(
  { pool, now, logger }: ReplayRouteDeps,
  number: number,
  { stop, left }: { stop: AbortSignal; left: AbortSignal },
): AsyncGenerator<string> {
  const gone = AbortSignal.any([stop, left])
  let latest = noProgress
  let said_ms = Number.NEGATIVE_INFINITY
  try {
    while (!left.aborted) {
      const state = await awaitJob(pool, number)
      latest = { ...latest, ...state.progress }
      const last = stop.aborted ? { ...latest, state: 'stopped' as const } : endOf(state, latest)
      if (last !== null) {
        yield line(last)
        return
      }
      if (performance.now() - said_ms >= progress_ms) {
        said_ms = performance.now()
        yield line(latest)
      }
      await pause(look_pause_ms, undefined, { signal: gone }).catch(() => {})
    }
  } catch (err) {
    logger.error({ err }, 'the state of a replay is unknown')
    yield line(failed(latest))
  } finally {
    // If PostgreSQL is away, the signs of this process end, and the replayer sees that.
    await leaveJob(pool, number, now()).catch(() => {})
  }
}

function endOf({ outcome }: AwaitedState, latest: ReplayProgress): ReplayProgress | null {
  if (outcome === null) return null
  return 'error' in outcome ? failed(latest) : latest
}

const failed = (latest: ReplayProgress): ReplayProgress => ({ ...latest, state: 'failed', error: 'unavailable' })

const line = (progress: ReplayProgress): string => `${JSON.stringify(progress)}\n`
