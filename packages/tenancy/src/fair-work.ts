import { CodedError, retrySoon } from '@tributary/contracts/errors'

interface Waiting {
  start(): void
  refuse(): void
}

export interface FairWorkOptions {
  at_once_max: number
  waiting_max: number
}

/**
 * Runs at most so many works at once; the others wait in lines, one for each holder, and the first of each line comes before the
 * second of any. When all lines are full, a newcomer replaces the last of the longest line, unless its own is the longest: `unavailable`.
 */
export function fairWork({ at_once_max, waiting_max }: FairWorkOptions) {
  const lines = new Map<string, Waiting[]>()
  let running = 0
  let waiting = 0

  function next(): void {
    const first = lines.entries().next().value
    if (first === undefined) return
    const [holder, line] = first
    lines.delete(holder)
    const work = line.shift()
    if (line.length > 0) lines.set(holder, line) // behind the lines of all others
    waiting -= 1
    running += 1
    work?.start()
  }

  function makeRoom(own: number): void {
    if (waiting < waiting_max) return
    const [holder, longest] = [...lines].reduce((most, one) => (one[1].length > most[1].length ? one : most))
    if (longest.length <= own) throw busy()
    longest.pop()?.refuse()
    if (longest.length === 0) lines.delete(holder)
    waiting -= 1
  }

  function wait(holder: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    makeRoom(lines.get(holder)?.length ?? 0)
    const line = lines.get(holder) ?? []
    line.push({ start: resolve, refuse: () => reject(busy()) })
    lines.set(holder, line)
    waiting += 1
    return promise
  }

  return async function run<T>(holder: string, work: () => Promise<T>): Promise<T> {
    if (running >= at_once_max) await wait(holder)
    else running += 1
    try {
      return await work()
    } finally {
      running -= 1
      next()
    }
  }
}

const busy = () =>
  new CodedError('unavailable', { message: 'Too many requests of this kind at once.', headers: retrySoon })
