import { expect, test } from 'vitest'
import { batchedLoad } from '../../src/credentials/batched-load.ts'

/** A loader over a store whose queries end when the test says so. */
function loaderInHand() {
  const queries: (PromiseWithResolvers<Map<string, string>> & { keys: readonly string[] })[] = []
  const load = batchedLoad<string>((keys) => {
    const query = { keys, ...Promise.withResolvers<Map<string, string>>() }
    queries.push(query)
    return query.promise
  })
  /** Answers a query with the keys that begin with `k`. */
  const answer = (n: number) => {
    const { keys, resolve } = queries[n]!
    resolve(new Map(keys.filter((key) => key.startsWith('k')).map((key) => [key, `row of ${key}`])))
  }
  return { queries, load, answer }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
const keysOf = (count: number, from = 0) => Array.from({ length: count }, (_, n) => `k${from + n}`)

test('keys of one turn share a query, the same key is in it once, and a key without a row is null', async () => {
  const { queries, load, answer } = loaderInHand()
  const found = Promise.all(['k1', 'k2', 'x', 'k1'].map(load))
  await turn()
  expect(queries.map(({ keys }) => keys)).toEqual([['k1', 'k2', 'x']])
  answer(0)
  expect(await found).toEqual(['row of k1', 'row of k2', null, 'row of k1'])
})

test('two queries run at once; a flood of further keys waits and goes by five hundred', async () => {
  const { queries, load, answer } = loaderInHand()
  const flood = [load('k0')]
  await turn()
  flood.push(load('k1'))
  await turn()
  for (const key of keysOf(700, 2)) {
    flood.push(load(key))
    if (key.endsWith('0')) await turn()
  }
  expect(queries.map(({ keys }) => keys.length)).toEqual([1, 1])
  answer(0)
  await turn()
  expect(queries.map(({ keys }) => keys.length)).toEqual([1, 1, 500])
  flood.push(load('k1000'))
  answer(2)
  await turn()
  expect(queries.map(({ keys }) => keys.length)).toEqual([1, 1, 500, 201])
  answer(1)
  answer(3)
  expect(await Promise.all(flood)).toEqual([...keysOf(702), 'k1000'].map((key) => `row of ${key}`))
})

test('a key whose query runs already is looked up again: a change since then is seen', async () => {
  const { queries, load, answer } = loaderInHand()
  const before = load('k')
  await turn()
  const after = load('k')
  await turn()
  expect(queries.map(({ keys }) => keys)).toEqual([['k'], ['k']])
  answer(1)
  expect(await after).toBe('row of k')
  answer(0)
  expect(await before).toBe('row of k')
})

test('a failed query fails its own keys and no other, and lets the next one run', async () => {
  const { queries, load, answer } = loaderInHand()
  const failing = ['k0', 'k1'].map((key) => expect(load(key)).rejects.toThrow('away'))
  await turn()
  const other = load('k1')
  await turn()
  const waiting = load('k2')
  await turn()
  queries[0]!.reject(new Error('away'))
  await Promise.all(failing)
  await turn()
  answer(2)
  answer(1)
  expect(await Promise.all([other, waiting])).toEqual(['row of k1', 'row of k2'])
})

test('the key after 20,000 that wait is refused, and those that wait can be joined', async () => {
  const { queries, load, answer } = loaderInHand()
  const running = [load('k0')]
  await turn()
  running.push(load('k1'))
  await turn()
  const waiting = keysOf(20_000, 2).map(load)
  await expect(load('k')).rejects.toThrow('too many keys wait')
  waiting.push(load('k2'), load('k20001'))
  for (let n = 0; n < queries.length; n += 1) {
    answer(n)
    await turn()
  }
  expect(queries).toHaveLength(42)
  expect(await Promise.all([...running, ...waiting])).toHaveLength(20_004)
})
