import { CodedError } from '@tributary/contracts/errors'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createFairPool, type FairPool, type Owner } from '../../src/turns/fair-pool.ts'

const limits = {
  running_max: 4,
  company_running_max: 3,
  key_running_max: 2,
  key_waiting_max: 3,
  wait_ms_max: 10_000,
  run_ms_max: 30_000,
}
const never = new AbortController().signal
const settle = () => vi.advanceTimersByTimeAsync(0)

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A report and what became of it; the code of an error that was answered. */
interface Request extends Owner {
  number: number
  state: 'waiting' | 'running' | 'over'
  arrived_ms: number
  started_ms: number
  answer: unknown
  end: PromiseWithResolvers<number>
  client: AbortController
}

const namesOf = ({ company_id, key_id }: Owner) => [company_id, `${company_id}/${key_id}`]

/** Sends requests to a pool, and holds each start against the rule of fair turns. */
class World {
  readonly requests: Request[] = []
  readonly pool: FairPool = createFairPool(limits)
  /** When each company and key that has something in hand came or last started a report. */
  readonly lastTurn = new Map<string, number>()
  /** Reports that started before one whose turn was first. */
  readonly passed: number[] = []
  private turns = 0

  requestsIn(state: Request['state'], of: Partial<Owner> = {}): Request[] {
    const matches = (request: Request) =>
      (of.company_id ?? request.company_id) === request.company_id && (of.key_id ?? request.key_id) === request.key_id
    return this.requests.filter((request) => request.state === state && matches(request))
  }

  arrive(owner: Owner): Request {
    const times = { arrived_ms: Date.now(), started_ms: 0 }
    const way = { end: Promise.withResolvers<number>(), client: new AbortController() }
    const number = this.requests.length
    const request: Request = { ...owner, ...times, ...way, number, state: 'waiting', answer: null }
    this.requests.push(request)
    for (const name of namesOf(owner)) if (!this.lastTurn.has(name)) this.lastTurn.set(name, this.turns++)
    const work = async () => {
      this.checkTurn(request)
      Object.assign(request, { state: 'running', started_ms: Date.now() })
      for (const name of namesOf(owner)) this.lastTurn.set(name, this.turns++)
      return request.end.promise.finally(() => this.close(request))
    }
    this.pool.run(owner, work, request.client.signal).then(
      (answer) => Object.assign(request, { answer }),
      (error) => {
        request.answer = error instanceof CodedError ? error.code : error.message
        if (request.state === 'waiting') this.close(request)
      },
    )
    return request
  }

  private close(request: Request): void {
    request.state = 'over'
    const left = this.requests.filter(({ state }) => state !== 'over').flatMap(namesOf)
    for (const name of namesOf(request)) if (!left.includes(name)) this.lastTurn.delete(name)
  }

  private mayStart({ company_id, key_id }: Owner): boolean {
    const free = (max: number, of: Partial<Owner>) => this.requestsIn('running', of).length < max
    return free(limits.company_running_max, { company_id }) && free(limits.key_running_max, { company_id, key_id })
  }

  /** The next report to start: its company, then its key runs the fewest reports; among equals the one with the earliest last turn. */
  private checkTurn(started: Request): void {
    const rankOf = ({ company_id, key_id }: Request) => [
      this.requestsIn('running', { company_id }).length,
      this.lastTurn.get(company_id)!,
      this.requestsIn('running', { company_id, key_id }).length,
      this.lastTurn.get(`${company_id}/${key_id}`)!,
    ]
    const own = rankOf(started)
    const isAhead = (other: Request) => {
      const rank = rankOf(other)
      const differs = rank.findIndex((value, n) => value !== own[n])
      return differs >= 0 && rank[differs]! < own[differs]!
    }
    const { company_id, key_id } = started
    const oldest = this.requestsIn('waiting', { company_id, key_id })[0]
    const passed = this.requestsIn('waiting').some((other) => this.mayStart(other) && isAhead(other))
    if (passed || oldest !== started) this.passed.push(started.number)
  }

  check(): void {
    expect(this.passed).toEqual([])
    const running = this.requestsIn('running')
    expect(running.length).toBeLessThanOrEqual(limits.running_max)
    for (const { company_id, key_id } of this.requests) {
      expect(this.requestsIn('running', { company_id }).length).toBeLessThanOrEqual(limits.company_running_max)
      expect(this.requestsIn('running', { company_id, key_id }).length).toBeLessThanOrEqual(limits.key_running_max)
    }
    for (const request of this.requestsIn('waiting')) {
      expect(request.client.signal.aborted).toBe(false)
      expect(Date.now() - request.arrived_ms).toBeLessThan(limits.wait_ms_max)
      expect(running.length === limits.running_max || !this.mayStart(request), 'waits beside a free slot').toBe(true)
    }
    for (const request of running) {
      const late = Date.now() - request.started_ms >= limits.run_ms_max
      expect(request.answer).toBe(late ? 'unavailable' : null)
    }
    expect(this.pool.counts()).toEqual({ running: running.length, waiting: this.requestsIn('waiting').length })
  }
}

type Step =
  | { kind: 'arrive'; owner: Owner }
  | { kind: 'end'; which: number; fails: boolean }
  | { kind: 'leave'; which: number }
  | { kind: 'pass'; ms: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('arrive' as const),
      owner: fc.record({ company_id: fc.constantFrom('a', 'a', 'a', 'b', 'c'), key_id: fc.constantFrom('1', '2') }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('end' as const), which: fc.nat(), fails: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), which: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 12_000 }) }),
  },
)

async function take(world: World, step: Step): Promise<void> {
  const nth = (requests: Request[], which: number) => requests[which % Math.max(1, requests.length)]
  if (step.kind === 'arrive') {
    const waiting = world.requestsIn('waiting', step.owner).length
    const request = world.arrive(step.owner)
    await settle()
    if (request.answer === 'rate_limited') expect(waiting).toBeGreaterThanOrEqual(limits.key_waiting_max)
  } else if (step.kind === 'end') {
    const request = nth(world.requestsIn('running'), step.which)
    if (step.fails) request?.end.reject(new Error('engine'))
    else request?.end.resolve(request.number)
  } else if (step.kind === 'leave') {
    nth([...world.requestsIn('waiting'), ...world.requestsIn('running')], step.which)?.client.abort()
  } else await vi.advanceTimersByTimeAsync(step.ms)
  await settle()
}

test('whatever comes, the limits hold, turns are fair, nobody waits beside a free slot, and all counts end at zero', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80, size: 'max' }), async (steps) => {
      const world = new World()
      for (const step of steps) {
        await take(world, step)
        world.check()
      }
      while (world.requestsIn('running').length > 0) await take(world, { kind: 'end', which: 0, fails: false })
      expect(world.pool.counts()).toEqual({ running: 0, waiting: 0 })
      expect(world.requestsIn('over')).toHaveLength(world.requests.length)
      expect(vi.getTimerCount()).toBe(0)
    }),
    { numRuns: 300 },
  )
})

describe('a pool that is busy', () => {
  test('lets two of a key in and three more wait, however few slots there are, and refuses the next at once', async () => {
    const pool = createFairPool({ ...limits, running_max: 1 })
    const end = Promise.withResolvers<void>()
    const owner = { company_id: 'a', key_id: '1' }
    const answers = Array.from({ length: 6 }, () => pool.run(owner, () => end.promise, never).catch((error) => error))
    const refused = (await answers[5]) as CodedError
    expect([refused.code, refused.headers]).toEqual(['rate_limited', { 'retry-after': '1' }])
    expect(pool.counts()).toEqual({ running: 1, waiting: 4 })
    end.resolve()
    expect(await Promise.all(answers.slice(0, 5))).toEqual(Array(5).fill(undefined))
  })

  test('lets what continues go before new reports of its key, however many wait, and takes turns with another company', async () => {
    const pool = createFairPool({ ...limits, running_max: 1 })
    const end = Promise.withResolvers<void>()
    const order: string[] = []
    const run = (name: string, company_id: string, continues: boolean) =>
      pool.run({ company_id, key_id: '1' }, async () => void order.push(name), never, continues)
    const first = pool.run({ company_id: 'a', key_id: '1' }, () => end.promise, never)
    const fresh = ['new 1', 'new 2', 'new 3', 'new 4'].map((name) => run(name, 'a', false))
    await expect(run('too many', 'a', false)).rejects.toMatchObject({ code: 'rate_limited' })
    const continued = ['page 1', 'page 2'].map((name) => run(name, 'a', true))
    const other = run('other', 'b', false)
    expect(pool.counts()).toEqual({ running: 1, waiting: 7 })
    end.resolve()
    await Promise.all([first, ...fresh, ...continued, other])
    expect(order).toEqual(['page 1', 'other', 'page 2', 'new 1', 'new 2', 'new 3', 'new 4'])
    expect(pool.counts()).toEqual({ running: 0, waiting: 0 })
    const left = new AbortController()
    const waits = pool.run({ company_id: 'a', key_id: '1' }, () => new Promise(() => {}), never)
    const gone = pool.run({ company_id: 'a', key_id: '1' }, async () => order.push('gone'), left.signal, true)
    left.abort()
    await expect(gone).rejects.toMatchObject({ code: 'unavailable' })
    expect(pool.counts()).toEqual({ running: 1, waiting: 0 })
    void waits.catch(() => {})
  })

  test('gives a slot back when the work that overran has ended, not before', async () => {
    const pool = createFairPool({ ...limits, running_max: 1 })
    const end = Promise.withResolvers<void>()
    const late = pool.run({ company_id: 'a', key_id: '1' }, () => end.promise, never).catch((error) => error.code)
    await vi.advanceTimersByTimeAsync(limits.run_ms_max)
    expect(await late).toBe('unavailable')
    const next = pool.run({ company_id: 'b', key_id: '1' }, async () => 'ran', never)
    await settle()
    expect(pool.counts()).toEqual({ running: 1, waiting: 1 })
    end.resolve()
    expect(await next).toBe('ran')
  })
})
