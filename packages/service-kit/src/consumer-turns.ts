/** Runs a task when its turn has come. */
export type InTurn = <Result>(task: () => Promise<Result>) => Promise<Result>

/** Runs at most `at_once` tasks at a time, in the order in which they came. */
export function takeTurns(at_once: number): InTurn {
  let free = at_once
  const waiting: (() => void)[] = []
  return async (task) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
}
