/** Runs work when its turn has come; rejects with the reason of the signal when that fires before. */
export type Turns = <T>(signal: AbortSignal, work: () => Promise<T>) => Promise<T>

/** At most `turns_max` pieces of work at the same time; the others wait in their order. */
export function createTurns(turns_max: number): Turns {
  let free = turns_max
  const waiting = new Set<() => void>()

  async function take(signal: AbortSignal): Promise<void> {
    if (free > 0) {
      free -= 1
      return
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const giveUp = () => {
      waiting.delete(resolve)
      reject(signal.reason)
    }
    waiting.add(resolve)
    signal.addEventListener('abort', giveUp)
    await promise.finally(() => signal.removeEventListener('abort', giveUp))
  }

  function pass() {
    const [next] = waiting
    if (next === undefined) {
      free += 1
      return
    }
    waiting.delete(next)
    next()
  }

  return async (signal, work) => {
    await take(signal)
    try {
      return await work()
    } finally {
      pass()
    }
  }
}
