import { setTimeout as pause } from 'node:timers/promises'
import { type AwaitedState, awaitJob, leaveJob } from '@tributary/postgres/awaited-jobs'
import type { AdminApiDeps } from '../deps.ts'
import { look_pause_ms } from './asked-work.ts'

/** Between two lines: no proxy takes the connection for idle. */
const progress_ms = 1000

/** What a line of progress has, whatever the work. */
interface Progress {
  state: string
  error?: string | undefined
}

interface Followed<P extends Progress> {
  number: number
  /** What is shown before the work shows something. */
  first: P
  stop: AbortSignal
  left: AbortSignal
}

/**
 * How far work has come, a line of JSON a second; the last says how it ended. Whoever works sees that nobody waits any more when the
 * caller leaves, and when this process stops.
 */
export async function* progressLines<P extends Progress>(
  { pool, now, logger }: Pick<AdminApiDeps, 'pool' | 'now' | 'logger'>,
  { number, first, stop, left }: Followed<P>,
): AsyncGenerator<string> {
  const gone = AbortSignal.any([stop, left])
  let latest = first
  let said_ms = Number.NEGATIVE_INFINITY
  try {
    while (!left.aborted) {
      const state = await awaitJob(pool, number)
      latest = { ...latest, ...state.progress }
      const last = stop.aborted ? { ...latest, state: 'stopped' } : endOf(state, latest)
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
    logger.error({ err }, 'the state of asked work is unknown')
    yield line(failed(latest))
  } finally {
    // If PostgreSQL is away, the signs of this process end, and whoever works sees that.
    await leaveJob(pool, number, now()).catch(() => {})
  }
}

function endOf<P extends Progress>({ outcome }: AwaitedState, latest: P): P | null {
  if (outcome === null) return null
  return 'error' in outcome ? failed(latest) : latest
}

const failed = <P extends Progress>(latest: P): P => ({ ...latest, state: 'failed', error: 'unavailable' })

const line = (progress: Progress): string => `${JSON.stringify(progress)}\n`
