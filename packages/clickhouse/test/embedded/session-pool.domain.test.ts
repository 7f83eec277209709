import { expect, test } from 'vitest'
import { openSessionPool } from '../../src/embedded/session-pool.ts'

/** Runs these tasks on one session that is busy until all of them wait, and tells the order in which they ran. */
async function orderOf(...tasks: { name: string; isShort?: boolean }[]) {
  const pool = openSessionPool(['session'])
  const busy = Promise.withResolvers<void>()
  const ran: string[] = []
  const first = pool.run(() => busy.promise)
  const others = tasks.map(({ name, isShort }) => pool.run(async () => ran.push(name), isShort))
  busy.resolve()
  await Promise.all([first, ...others])
  return ran
}

test('tasks run in their order', async () => {
  expect(await orderOf({ name: 'a' }, { name: 'b' }, { name: 'c' })).toEqual(['a', 'b', 'c'])
})

test('a short task waits for one other at most', async () => {
  const order = await orderOf({ name: 'a' }, { name: 'b' }, { name: 'c' }, { name: 'short', isShort: true })
  expect(order.indexOf('short')).toBeLessThanOrEqual(1)
})

test('many short tasks hold nobody up', async () => {
  const short = Array.from({ length: 20 }, (_, n) => ({ name: `short ${n}`, isShort: true }))
  expect((await orderOf(...short, { name: 'other' })).indexOf('other')).toBeLessThanOrEqual(1)
})
