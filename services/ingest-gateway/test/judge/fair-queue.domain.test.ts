import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFairQueue } from '../../src/judge/threads/fair-queue.ts'

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
