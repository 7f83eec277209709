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

export interface Tenant {
  company_id: string
  app_id: string
}

/** Companies take turns by what their jobs cost, and within each its apps: a company does not come more often for having more apps. */
export interface TenantQueue<Job> {
  push(tenant: Tenant, job: Job): void
  next(): { job: Job; holder: Tenant } | undefined
  remove(tenant: Tenant, job: Job): void
  spent(tenant: Tenant, cost: number): void
  size(): number
  /** Jobs of one app. */
  waiting(tenant: Tenant): number
}

export function createTenantQueue<Job>(): TenantQueue<Job> {
  /** It holds a turn for each job of a company. */
  const companies = createFairQueue<'turn'>()
  const appsOf = new Map<string, FairQueue<Job>>()
  const forgetEmpty = (company_id: string) => {
    if (appsOf.get(company_id)?.size() === 0) appsOf.delete(company_id)
  }
  return {
    push({ company_id, app_id }, job) {
      const apps = appsOf.get(company_id) ?? createFairQueue<Job>()
      appsOf.set(company_id, apps)
      apps.push(app_id, job)
      companies.push(company_id, 'turn')
    },
    next() {
      const turn = companies.next()
      if (turn === undefined) return undefined
      const company_id = turn.holder
      const { holder: app_id, job } = appsOf.get(company_id)!.next()!
      return { job, holder: { company_id, app_id } }
    },
    remove({ company_id, app_id }, job) {
      const apps = appsOf.get(company_id)
      const before = apps?.size() ?? 0
      apps?.remove(app_id, job)
      if (apps !== undefined && apps.size() < before) companies.remove(company_id, 'turn')
      forgetEmpty(company_id)
    },
    spent({ company_id, app_id }, cost) {
      companies.spent(company_id, cost)
      appsOf.get(company_id)?.spent(app_id, cost)
      forgetEmpty(company_id)
    },
    size: () => companies.size(),
    waiting: ({ company_id, app_id }) => appsOf.get(company_id)?.waiting(app_id) ?? 0,
  }
}
