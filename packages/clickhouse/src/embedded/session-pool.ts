import { toEngineError } from '../unavailable.ts'

/** Runs tasks in their order on the sessions that it has, one task a session at a time. */
export interface SessionPool<S> {
  run<Result>(task: (session: S) => Promise<Result>): Promise<Result>
  /** Refuses further tasks and returns the sessions. Tasks that have a session already go on. */
  close(): readonly S[]
}

export function openSessionPool<S>(sessions: readonly S[]): SessionPool<S> {
  const idle = [...sessions]
  const waiting: PromiseWithResolvers<S>[] = []
  let closed = false

  const acquire = (): Promise<S> => {
    if (closed) return Promise.reject(new Error('ClickHouse is closed'))
    const session = idle.pop()
    if (session !== undefined) return Promise.resolve(session)
    const request = Promise.withResolvers<S>()
    waiting.push(request)
    return request.promise
  }
  const release = (session: S) => {
    const next = waiting.shift()
    if (next === undefined) idle.push(session)
    else next.resolve(session)
  }
  return {
    async run(task) {
      const session = await acquire()
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
      for (const request of waiting.splice(0)) request.reject(new Error('ClickHouse is closed'))
      return sessions
    },
  }
}
