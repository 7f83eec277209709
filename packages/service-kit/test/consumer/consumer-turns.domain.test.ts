import { expect, test } from 'vitest'
import { takeTurns } from '../../src/consumer/turns.ts'

test('runs no more tasks at once than it may, in their order, also after one has failed', async () => {
  const inTurn = takeTurns(2)
  const begun: number[] = []
  const tasks = [0, 1, 2, 3].map((n) => {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const done = inTurn(() => {
      begun.push(n)
      return promise
    })
    return { done, resolve, reject }
  })
  await new Promise(setImmediate)
  expect(begun).toEqual([0, 1])
  tasks[1]!.reject(new Error('no'))
  await expect(tasks[1]!.done).rejects.toThrow('no')
  expect(begun).toEqual([0, 1, 2])
  for (const n of [0, 2, 3]) tasks[n]!.resolve(n)
  expect(await Promise.all([0, 2, 3].map((n) => tasks[n]!.done))).toEqual([0, 2, 3])
  expect(begun).toEqual([0, 1, 2, 3])
})
