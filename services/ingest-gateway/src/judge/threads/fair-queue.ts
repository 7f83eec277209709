/**
 * Jobs that share one server, by holders within holders. A path names the holders from the outermost on, such as
 * `[company_id, app_id]`. Estimates and spent work have one unit, such as milliseconds.
 */
export interface FairQueue<Job> {
  push(path: readonly string[], job: Job): void
  /** The job that `next` would take out. */
  first(): Job | undefined
  /** The server takes a job. It takes the next one after `spent`. */
  next(): Job | undefined
  /** Takes a waiting job out; does nothing for a job that does not wait. */
  remove(path: readonly string[], job: Job): void
  /** Notes that the job that `next` took out of this path has ended, and its cost. */
  spent(path: readonly string[], cost: number): void
  /** Jobs that wait at or below a path. */
  waiting(path: readonly string[]): number
}

interface Holder<Job> {
  queue: FairQueue<Job>
  /** When its next job may start, by the clock of the queue. */
  start: number
  running: boolean
  /** Jobs that were taken out since the queue last forgot it. */
  taken: number
}

/**
 * Weighted fair queueing with equal weights (Parekh and Gallager, "A generalized processor sharing approach to flow
 * control", 1993): the next job is the one that would end first if the server worked on a job of each holder at once.
 * `estimateOf` must be the most that a job may cost. A job then waits at most until each of `n` holders has spent as
 * much as its own estimate, and for two jobs of any size, however many jobs the others push: `n * estimate + 2 *
 * largest`. Holders pay the true cost of their jobs. A holder that comes back begins at the present time, so no holder
 * saves up turns while it has no jobs, and a holder is forgotten once its debt has passed.
 */
export function createFairQueue<Job>(depth: number, estimateOf: (job: Job) => number): FairQueue<Job> {
  if (depth === 0) return createLine()
  const holders = new Map<string, Holder<Job>>()
  /** The clock of the queue: work for each holder that has any. It is slower the more such holders there are. */
  let now = 0
  const isIdle = ({ queue, running }: Holder<Job>) => !running && queue.first() === undefined

  function findNext(): Holder<Job> | null {
    let next: Holder<Job> | null = null
    let next_end = 0
    for (const holder of holders.values()) {
      const job = holder.queue.first()
      if (job === undefined) continue
      const end = holder.start + estimateOf(job)
      if (next !== null && (end > next_end || (end === next_end && holder.taken >= next.taken))) continue
      next = holder
      next_end = end
    }
    return next
  }
  /** Holders without a job count as sharing the work until the clock has reached their debt. */
  function pass(work: number) {
    const debts = [...holders.values()].filter(isIdle).map(({ start }) => start)
    let parts = holders.size
    for (const end of debts.sort((a, b) => a - b)) {
      const needed = Math.max(0, end - now) * parts
      if (needed > work) break
      work -= needed
      now = Math.max(now, end)
      parts -= 1
    }
    if (parts > 0) now += work / parts
    forget()
  }
  function forget() {
    for (const [name, holder] of holders) if (isIdle(holder) && holder.start <= now) holders.delete(name)
  }
  return {
    push([name, ...inner], job) {
      const holder = holders.get(name!) ?? newHolder(depth, estimateOf)
      holders.set(name!, holder)
      if (isIdle(holder)) holder.start = Math.max(now, holder.start)
      holder.queue.push(inner, job)
    },
    first: () => findNext()?.queue.first(),
    next() {
      const holder = findNext()
      if (holder === null) return undefined
      holder.running = true
      holder.taken += 1
      return holder.queue.next()
    },
    remove([name, ...inner], job) {
      holders.get(name!)?.queue.remove(inner, job)
      forget()
    },
    spent([name, ...inner], cost) {
      const holder = holders.get(name!)!
      holder.queue.spent(inner, cost)
      holder.running = false
      holder.start += cost
      pass(cost)
    },
    waiting([name, ...inner]) {
      if (name !== undefined) return holders.get(name)?.queue.waiting(inner) ?? 0
      return [...holders.values()].reduce((sum, { queue }) => sum + queue.waiting([]), 0)
    },
  }
}

const newHolder = <Job>(depth: number, estimateOf: (job: Job) => number): Holder<Job> => ({
  ...{ queue: createFairQueue(depth - 1, estimateOf), start: 0, running: false, taken: 0 },
})

/** Jobs in the order of their arrival. */
function createLine<Job>(): FairQueue<Job> {
  const jobs: Job[] = []
  return {
    push: (_path, job) => void jobs.push(job),
    first: () => jobs[0],
    next: () => jobs.shift(),
    remove(_path, job) {
      const at = jobs.indexOf(job)
      if (at !== -1) jobs.splice(at, 1)
    },
    spent() {},
    waiting: () => jobs.length,
  }
}
