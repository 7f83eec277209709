import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createFairQueue } from '../../src/judge/threads/fair-queue.ts'

interface Job {
  path: readonly [company: string, app: string]
  name?: string
  /** The most that it may cost, and what it does cost. */
  estimate: number
  cost: number
}
const openQueue = () => createFairQueue<Job>(2, ({ estimate }) => estimate)

/** A server with a clock of its own, which works on one job after the other. */
function openServer() {
  const queue = openQueue()
  let now = 0
  const done: { job: Job; at: number }[] = []
  return {
    queue,
    done,
    now: () => now,
    push: (job: Job) => queue.push(job.path, job),
    /** Works on the next job; false where none waits. `meanwhile` runs after a part of its time. */
    work(meanwhile: () => void = () => {}): boolean {
      const job = queue.next()
      if (job === undefined) return false
      meanwhile()
      now += job.cost
      queue.spent(job.path, job.cost)
      done.push({ job, at: now })
      return true
    },
  }
}
type Server = ReturnType<typeof openServer>

/** Works until a job that is pushed now is done. */
function waitFor(server: Server, job: Job, meanwhile?: () => void): { ms: number; before: Job[] } {
  const from = server.now()
  const at = server.done.length
  server.push(job)
  while (server.done.at(-1)?.job !== job) server.work(meanwhile)
  return { ms: server.now() - from, before: server.done.slice(at, -1).map((one) => one.job) }
}

const large = 840
/** A body of the company `n`. */
const bodyOf = (n: number, estimate: number, cost = estimate): Job => ({ path: [`co ${n}`, 'app'], estimate, cost })
const victim = (estimate: number, cost = estimate): Job => ({ path: ['victim', 'app'], estimate, cost })

describe('a small body', () => {
  test.each([1, 40, 400])(
    'waits for no more than one large body beside the running one, of however many companies: %i',
    (n) => {
      const server = openServer()
      const companies = Array.from({ length: n }, (_, company) => company)
      const attack = () => {
        for (const company of companies) server.push(bodyOf(company, large))
      }
      attack()
      // At many places of their rounds.
      for (let round = 0; round < 20; round += 1) {
        attack()
        const small = victim(0.1)
        server.work(() => server.push(small))
        const from = server.done.length
        while (server.done.at(-1)!.job !== small) server.work()
        expect(server.done.length - from).toBeLessThanOrEqual(2)
        for (let m = 0; m < (n * round) / 20; m += 1) server.work()
      }
    },
  )

  test('that comes again and again is not before others that wait', () => {
    const server = openServer()
    server.push(bodyOf(1, large))
    let smalls = 0
    for (; server.done.at(-1)?.job.estimate !== large; smalls += 1) {
      server.push(victim(10))
      server.work()
    }
    expect(smalls * 10).toBeLessThanOrEqual(large + 20)
  })
})

test('any job waits for what others spend up to its own estimate each, and for two jobs of any size', () => {
  const companies_max = 12
  const step = fc.record({
    company: fc.integer({ min: 0, max: companies_max - 1 }),
    app: fc.constantFrom('a', 'b', 'c'),
    estimate: fc.constantFrom(1, 60, 400, large),
    part: fc.constantFrom(0.02, 0.5, 1),
    works: fc.constantFrom(0, 0, 0, 1, 2),
  })
  const steps = fc.array(step, { minLength: 5, maxLength: 150 })
  fc.assert(
    fc.property(steps, steps, fc.constantFrom(1, 60, 400, large), fc.boolean(), (earlier, later, estimate, lately) => {
      const server = openServer()
      const next = later.values()
      const attack = ({ company, app, estimate, part }: (typeof earlier)[number]) =>
        server.push({ path: [`co ${company}`, app], estimate, cost: estimate * part })
      if (lately) server.push(victim(1))
      for (const one of earlier) {
        attack(one)
        for (let n = 0; n < one.works; n += 1) server.work()
      }
      // The others push more while it waits.
      const seen = waitFor(server, victim(estimate), () => {
        const one = next.next().value
        if (one !== undefined) attack(one)
      })
      expect(seen.ms).toBeLessThanOrEqual((companies_max + 1) * estimate + 2 * large + (lately ? 13 : 0) + 1e-6)
    }),
    { numRuns: 500 },
  )
})

test('a large job among floods of small ones of many companies has its part', () => {
  const server = openServer()
  const companies = 40
  const flood = () => {
    for (let n = 0; n < companies; n += 1) if (server.queue.waiting([`co ${n}`]) === 0) server.push(bodyOf(n, 5))
  }
  flood()
  for (let n = 0; n < 100; n += 1) server.work(flood)
  const { ms } = waitFor(server, victim(105), flood)
  expect(ms).toBeLessThanOrEqual((companies + 1) * 105 + 10)
})

test('a job that names a smaller estimate than it needs comes back as what it is: it is paid for, and waits anew', () => {
  const server = openServer()
  for (let n = 0; n < 40; n += 1) server.push(bodyOf(n, 1))
  for (let n = 0; n < 40; n += 1) {
    server.work()
    server.push(bodyOf(n, large))
  }
  expect(waitFor(server, victim(5)).before).toEqual([])
})

test('companies that always have a job get the same time, and so do the apps of one, whatever theirs cost', () => {
  const job = fc.tuple(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 10 }))
  fc.assert(
    fc.property(fc.array(job, { minLength: 2, maxLength: 5 }), fc.boolean(), (kinds, one_company) => {
      const server = openServer()
      for (const [n, [cost, too_much]] of kinds.entries()) {
        const path = one_company ? (['co', `${n}`] as const) : ([`${n}`, 'app'] as const)
        for (let m = 0; m < 500; m += 1) server.push({ path, name: `${n}`, cost, estimate: cost * too_much })
      }
      const used = new Map(kinds.map((_, n) => [`${n}`, 0]))
      while (Math.max(...used.values()) < 400) {
        server.work()
        const { name, cost } = server.done.at(-1)!.job
        used.set(name!, used.get(name!)! + cost)
      }
      const estimate_max = Math.max(...kinds.map(([cost, too_much]) => cost * too_much))
      expect(Math.max(...used.values()) - Math.min(...used.values())).toBeLessThanOrEqual(2 * estimate_max)
    }),
  )
})

test('a job of a newcomer comes next, however many like it wait', () => {
  const server = openServer()
  for (let n = 0; n < 100; n += 1) server.push(bodyOf(1, 700))
  for (let n = 0; n < 10; n += 1) server.work()
  expect(waitFor(server, victim(700)).before).toEqual([])
})

test('the jobs of an app keep their order, and each comes once', () => {
  const jobs = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('x', 'y'), fc.integer({ max: 9 })))
  fc.assert(
    fc.property(jobs, (steps) => {
      const server = openServer()
      const pushed = steps.map(([company, app, cost]): Job => ({ path: [company, app], cost, estimate: 9 }))
      for (const job of pushed) server.push(job)
      while (server.work());
      const done = server.done.map(({ job }) => job)
      const own = (all: readonly Job[], { path }: Job) => all.filter((one) => `${one.path}` === `${path}`)
      for (const job of pushed) expect(own(done, job)).toEqual(own(pushed, job))
      expect(done).toHaveLength(pushed.length)
      expect(server.queue.waiting([])).toBe(0)
    }),
  )
})

test('a company with many apps has the turns of one: another company comes after its first job', () => {
  const server = openServer()
  for (let n = 0; n < 40; n += 1) server.push({ path: ['many', `app ${n}`], estimate: 600, cost: 600 })
  server.work()
  expect(waitFor(server, victim(600)).before).toEqual([])
})

test('within a company its apps take turns, and what is removed takes no turn', () => {
  const server = openServer()
  const job = (app: string, name: string): Job => ({ path: ['co', app], name, estimate: 10, cost: 10 })
  const flood = Array.from({ length: 5 }, (_, n) => job('flood', `flood ${n}`))
  for (const one of flood) server.push(one)
  server.push(job('quiet', 'quiet'))
  server.queue.remove(['co', 'flood'], flood[1]!)
  server.queue.remove(['co', 'nobody'], flood[1]!)
  while (server.work());
  expect(server.done.map(({ job }) => job.name)).toEqual(['flood 0', 'quiet', 'flood 2', 'flood 3', 'flood 4'])
})
