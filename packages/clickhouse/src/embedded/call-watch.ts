/**
 * Pause between two looks at the running calls. Their time is counted in looks, so a machine that stood still for minutes has
 * aged them by one.
 */
export const look_ms = 5000

/** The engine does not return from a call, and gets no further calls. */
export class EngineStuck extends Error {
  override name = 'EngineStuck'
}

/** Runs a call of the engine; rejects with `EngineStuck` once this or another call has taken longer than it may. */
export type WatchedRun = <Result>(what: string, ms_max: number, call: () => Promise<Result>) => Promise<Result>

interface Running {
  what: string
  ms: number
  ms_max: number
  reject(error: EngineStuck): void
}

/** Watches the calls of one engine. The first call that takes too long calls `onStuck`; nothing can end a call of chdb. */
export function watchCalls(onStuck: (error: EngineStuck) => void): WatchedRun {
  const running = new Set<Running>()
  let timer: NodeJS.Timeout | undefined
  let stuck: EngineStuck | undefined
  const look = () => {
    for (const call of running) call.ms += look_ms
    const late = [...running].find(({ ms, ms_max }) => ms > ms_max)
    if (late === undefined) return
    clearInterval(timer)
    stuck = new EngineStuck(`The embedded ClickHouse stands still: ${late.what} has run for ${late.ms / 1000} s`)
    onStuck(stuck)
    for (const call of running) call.reject(stuck)
  }
  return async <Result>(what: string, ms_max: number, call: () => Promise<Result>) => {
    if (stuck !== undefined) throw stuck
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const watched: Running = { what, ms: 0, ms_max, reject }
    running.add(watched)
    if (running.size === 1) timer = setInterval(look, look_ms)
    call().then(resolve, reject)
    try {
      return await promise
    } finally {
      running.delete(watched)
      if (running.size === 0) clearInterval(timer)
    }
  }
}
