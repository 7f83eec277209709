import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { fairWork } from '../../src/fair-work.ts'

/** Works that end when the test says so; their names in the order in which they began. */
function works() {
  const begun: string[] = []
  const ends: (() => void)[] = []
  const work = (name: string) => () => {
    begun.push(name)
    return new Promise<void>((resolve) => ends.push(resolve))
  }
  const endOne = async () => {
    ends.shift()?.()
    await turn()
  }
  return { begun, work, endOne }
}

test('runs two at once, and the first that waits of each before the second of any', async () => {
  const run = fairWork({ at_once_max: 2, waiting_max: 10 })
  const { begun, work, endOne } = works()
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1']) void run(name[0]!, work(name))
  expect(begun).toEqual(['a1', 'a2'])
  for (let n = 0; n < 3; n += 1) await endOne()
  expect(begun).toEqual(['a1', 'a2', 'a3', 'b1', 'a4'])
})

test('refuses the last of the longest line when all places are taken', async () => {
  const run = fairWork({ at_once_max: 1, waiting_max: 3 })
  const { begun, work, endOne } = works()
  const all = ['a0', 'a1', 'a2', 'a3'].map((name) =>
    run('a', work(name)).then(
      () => 'done',
      (error) => error.code,
    ),
  )
  await expect(run('a', work('a4'))).rejects.toMatchObject({ code: 'unavailable', status: 503 })
  const newcomer = run('b', work('b1')).then(() => 'done')
  expect(await all[3]).toBe('unavailable')
  for (let n = 0; n < 4; n += 1) await endOne()
  expect(begun).toEqual(['a0', 'a1', 'b1', 'a2'])
  expect(await Promise.all([...all.slice(0, 3), newcomer])).toEqual(['done', 'done', 'done', 'done'])
})

test('goes on after a work that failed', async () => {
  const run = fairWork({ at_once_max: 1, waiting_max: 3 })
  const failing = run('a', () => Promise.reject(new Error('no')))
  const next = run('a', async () => 'next')
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('next')
})
