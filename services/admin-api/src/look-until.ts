import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { unavailable } from './asked/asked-work.ts'

/** Between two looks whether what was asked of another process is done. */
const look_pause_ms = 100

/**
 * Makes the wait of routes that ask another process: looks again until `isDone`, or until the wait is over, because its time is or its
 * caller has left, and gives what the last look found. Throws `unavailable` when this process stops.
 */
export function looksUntil(app: FastifyInstance) {
  const stop = new AbortController()
  app.addHook('preClose', async () => {
    stop.abort(unavailable('admin-api ends.'))
  })
  return async <T>(reply: FastifyReply, wait_ms_max: number, look: () => Promise<T>, isDone: (found: T) => boolean) => {
    const left = new AbortController()
    reply.raw.once('close', () => left.abort())
    const signal = AbortSignal.any([stop.signal, left.signal, AbortSignal.timeout(wait_ms_max)])
    for (;;) {
      const found = await look()
      if (isDone(found)) return found
      stop.signal.throwIfAborted()
      if (signal.aborted) return found
      // An ended wait looks once more.
      await setTimeout(look_pause_ms, undefined, { signal }).catch(() => {})
    }
  }
}
