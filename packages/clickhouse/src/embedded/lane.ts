import { toEngineError } from '../unavailable.ts'

/** Runs tasks in their order on the sessions given, one task a session at a time. */
export interface Lane<S> {
  run<Result>(task: (session: S) => Promise<Result>): Promise<Result>
  /** Refuses further tasks and gives the sessions back; tasks on their way go on. */
  close(): readonly S[]
}

export function openLane<S>(sessions: readonly S[]): Lane<S> {
  const idle = [...sessions]
  const waiting: PromiseWithResolvers<S>[] = []
  let closed = false

  const acquire = (): Promise<S> => {
    if (closed) return Promise.reject(new Error('ClickHouse is closed'))
    const session = idle.pop()
    if (session !== undefined) return Promise.resolve(session)
    const turn = Promise.withResolvers<S>()
    waiting.push(turn)
    return turn.promise
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
      for (const turn of waiting.splice(0)) turn.reject(new Error('ClickHouse is closed'))
      return sessions
    },
  }
}
