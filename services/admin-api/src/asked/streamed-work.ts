import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'
import { unavailable, untilBegun } from './asked-work.ts'
import { progressLines } from './progress-lines.ts'

type StreamDeps = Pick<AdminApiDeps, 'pool' | 'now' | 'logger'>

interface Streamed<P> {
  /** Asks for the work; its number. */
  ask(): Promise<number>
  first: P
  /** Who does it. */
  worker: string
}

/**
 * Answers with the lines of work that runs as long as its request: a caller that goes away stops it, and so does the stop of this process.
 */
export function streamsWork(app: FastifyInstance, deps: StreamDeps) {
  const stop = new AbortController()
  app.addHook('preClose', async () => stop.abort(unavailable('admin-api ends.')))
  return async <P extends { state: string }>(reply: FastifyReply, { ask, first, worker }: Streamed<P>) => {
    const left = new AbortController()
    reply.raw.once('close', () => left.abort(unavailable('The caller left.')))
    const number = await ask()
    await untilBegun(deps, number, AbortSignal.any([stop.signal, left.signal]), worker)
    // Left open, the connection would hold up the stop of the process, which may begin meanwhile.
    reply.headers({ 'cache-control': 'no-store', connection: 'close' })
    const lines = progressLines(deps, { number, first, stop: stop.signal, left: left.signal })
    return reply.type('application/x-ndjson; charset=utf-8').send(Readable.from(lines))
  }
}
