/** Jobs of many holders that take turns by what they cost: one holder's flood waits behind itself alone. */
export interface FairQueue<Job> {
  push(holder: string, job: Job): void
  /** The oldest job of the holder that has used least, taken out. */
  next(): { holder: string; job: Job } | undefined
  /** Takes a job out that waits; nothing happens where it does not. */
  remove(holder: string, job: Job): void
  /** What a job has cost its holder, in any unit. */
  spent(holder: string, cost: number): void
  size(): number
  /** Jobs of one holder. */
  waiting(holder: string): number
}

/**
 * Start-time fair queueing (Goyal, Vin, Cheng, 1996) with one server. A holder that comes back begins at the present
 * time, so nobody saves up turns while it is silent, and nobody is remembered once its debt has passed.
 */
export function createFairQueue<Job>(): FairQueue<Job> {
  const jobsOf = new Map<string, Job[]>()
  /** When the next job of a holder may start, in units of cost. */
  const startOf = new Map<string, number>()
  let now = 0
  let size = 0
  const start = (holder: string) => Math.max(now, startOf.get(holder) ?? 0)

  function forget() {
    for (const [holder, at] of startOf) if (at <= now && !jobsOf.has(holder)) startOf.delete(holder)
  }
  return {
    push(holder, job) {
      const jobs = jobsOf.get(holder)
      if (jobs) jobs.push(job)
      else jobsOf.set(holder, [job])
      size += 1
    },
    next() {
      if (size === 0) return undefined
      const holder = [...jobsOf.keys()].reduce((first, one) => (start(one) < start(first) ? one : first))
      const jobs = jobsOf.get(holder)!
      const job = jobs.shift()!
      if (jobs.length === 0) jobsOf.delete(holder)
      size -= 1
      now = start(holder)
      forget()
      return { holder, job }
    },
    remove(holder, job) {
      const jobs = jobsOf.get(holder) ?? []
      const at = jobs.indexOf(job)
      if (at === -1) return
      jobs.splice(at, 1)
      if (jobs.length === 0) jobsOf.delete(holder)
      size -= 1
    },
    spent(holder, cost) {
      startOf.set(holder, start(holder) + cost)
    },
    size: () => size,
    waiting: (holder) => jobsOf.get(holder)?.length ?? 0,
  }
}
