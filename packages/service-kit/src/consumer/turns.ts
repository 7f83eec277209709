/** Runs a task when its turn has come. */
export type InTurn = <Result>(task: () => Promise<Result>) => Promise<Result>

export interface Turns {
  run: InTurn
  /** Gives a turn back for the time of a task that only waits, and takes one again after it. */
  rest: InTurn
}

/** At most `at_once` tasks at a time, in the order in which they came. */
export function createTurns(at_once: number): Turns {
  let free = at_once
  const waiting: (() => void)[] = []
  const take = async () => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
  }
  const giveBack = () => {
    const next = waiting.shift()
    if (next === undefined) free += 1
    else next()
  }
  return {
    async run(task) {
      await take()
      try {
        return await task()
      } finally {
        giveBack()
      }
    },
    async rest(task) {
      giveBack()
      try {
        return await task()
      } finally {
        await take()
      }
    },
  }
}

/** Runs at most `at_once` tasks at a time, in the order in which they came. */
export const takeTurns = (at_once: number): InTurn => createTurns(at_once).run
