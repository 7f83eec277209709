import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFairQueue, createTenantQueue } from '../../src/judge/threads/fair-queue.ts'

test('holders that always have a job get the same time, whatever theirs cost', () => {
  const costs = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 2, maxLength: 5 })
  fc.assert(
    fc.property(costs, (costOf) => {
      const queue = createFairQueue<number>()
      const used = costOf.map(() => 0)
      for (const holder of costOf.keys()) for (let n = 0; n < 500; n += 1) queue.push(`${holder}`, holder)
      while (Math.max(...used) < 400) {
        const { holder, job } = queue.next()!
        used[job]! += costOf[job]!
        queue.spent(holder, costOf[job]!)
      }
      expect(Math.max(...used) - Math.min(...used)).toBeLessThanOrEqual(2 * Math.max(...costOf))
    }),
  )
})

test('a job of a newcomer comes next, however many wait', () => {
  const queue = createFairQueue<string>()
  for (let n = 0; n < 100; n += 1) queue.push('flood', `flood ${n}`)
  for (let n = 0; n < 10; n += 1) queue.spent(queue.next()!.holder, 700)
  queue.push('quiet', 'quiet')
  expect(queue.next()?.job).toBe('quiet')
  expect(queue.next()?.job).toBe('flood 10')
})

test('the jobs of a holder keep their order, and each comes once', () => {
  const jobs = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 0, max: 9 })))
  fc.assert(
    fc.property(jobs, (steps) => {
      const queue = createFairQueue<number>()
      for (const [n, [holder]] of steps.entries()) queue.push(holder, n)
      const seen = new Map<string, number[]>()
      for (let turn = queue.next(); turn; turn = queue.next()) {
        seen.set(turn.holder, [...(seen.get(turn.holder) ?? []), turn.job])
        queue.spent(turn.holder, steps[turn.job]![1])
      }
      for (const [holder, order] of seen) {
        expect(order).toEqual([...steps.keys()].filter((n) => steps[n]![0] === holder))
      }
      expect([...seen.values()].flat()).toHaveLength(steps.length)
      expect(queue.size()).toBe(0)
    }),
  )
})

test('a company with many apps has the turns of one: another company comes after its first job', () => {
  const queue = createTenantQueue<string>()
  for (let n = 0; n < 40; n += 1) queue.push({ company_id: 'many', app_id: `app-${n}` }, `hostile ${n}`)
  queue.push({ company_id: 'one', app_id: 'app' }, 'victim')
  const order = Array.from({ length: 41 }, () => {
    const { job, holder } = queue.next()!
    queue.spent(holder, 600)
    return job
  })
  expect(order.indexOf('victim')).toBe(1)
  expect(new Set(order).size).toBe(41)
  expect([queue.next(), queue.size()]).toEqual([undefined, 0])
})

test('within a company its apps take turns, and what is removed takes no turn', () => {
  const queue = createTenantQueue<string>()
  const [flood, quiet] = ['flood', 'quiet'].map((app_id) => ({ company_id: 'co', app_id }))
  for (let n = 0; n < 5; n += 1) queue.push(flood!, `flood ${n}`)
  queue.push(quiet!, 'quiet')
  queue.remove(flood!, 'flood 1')
  queue.remove(flood!, 'nobody')
  const order = Array.from({ length: 5 }, () => {
    const { job, holder } = queue.next()!
    queue.spent(holder, 10)
    return job
  })
  expect(order).toEqual(['flood 0', 'quiet', 'flood 2', 'flood 3', 'flood 4'])
  expect(queue.next()).toBeUndefined()
})
