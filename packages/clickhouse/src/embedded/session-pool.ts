import { toEngineError } from '../unavailable.ts'

/** Runs tasks on the sessions that it has, one task a session at a time. */
export interface SessionPool<S> {
  /**
   * Tasks have their turn in their order. Where short ones and others wait, they take turns: the first short task waits
   * for one other at most, and many of them hold nobody up.
   */
  run<Result>(task: (session: S) => Promise<Result>, isShort?: boolean): Promise<Result>
  /** Refuses further tasks and returns the sessions. Tasks that have a session already go on. */
  close(): readonly S[]
}

export function openSessionPool<S>(sessions: readonly S[]): SessionPool<S> {
  const idle = [...sessions]
  const waiting = { short: [] as PromiseWithResolvers<S>[], other: [] as PromiseWithResolvers<S>[] }
  let turn: keyof typeof waiting = 'short'
  let closed = false

  const acquire = (isShort: boolean): Promise<S> => {
    if (closed) return Promise.reject(new Error('ClickHouse is closed'))
    const session = idle.pop()
    if (session !== undefined) return Promise.resolve(session)
    const request = Promise.withResolvers<S>()
    waiting[isShort ? 'short' : 'other'].push(request)
    return request.promise
  }
  const release = (session: S) => {
    const [now, after] = turn === 'short' ? (['short', 'other'] as const) : (['other', 'short'] as const)
    turn = after
    const next = waiting[now].shift() ?? waiting[after].shift()
    if (next === undefined) idle.push(session)
    else next.resolve(session)
  }
  return {
    async run(task, isShort = false) {
      const session = await acquire(isShort)
      try {
        return await task(session)
      } catch (error) {
        throw toEngineError(error)
      } finally {
        release(session)
      }
    },
    close() {
      closed = true
      for (const request of [...waiting.short.splice(0), ...waiting.other.splice(0)]) {
        request.reject(new Error('ClickHouse is closed'))
      }
      return sessions
    },
  }
}
