import { limits } from '@tributary/contracts/limits'
import { expect, test } from 'vitest'
import { cachedLookup } from '../../src/credentials/cached-lookup.ts'

interface Value {
  company_id: string
  version: number
}

/** A lookup over a store whose answers come when the test says so. */
function lookupInHand() {
  const asked: PromiseWithResolvers<Value | null>[] = []
  const clock = { now_ms: 1_000_000 }
  const counts = { stale: 0, failures: 0 }
  const lookup = cachedLookup<Value, Value>({
    load() {
      const answer = Promise.withResolvers<Value | null>()
      asked.push(answer)
      return answer.promise
    },
    toValue: (row) => row,
    now: () => clock.now_ms,
    onFailure: () => void counts.failures++,
    onStaleAnswer: () => void counts.stale++,
  })
  return { lookup, asked, clock, counts }
}

const version = (n: number): Value => ({ company_id: 'co_1', version: n })

test('a hit is the same settled promise again', async () => {
  const { lookup, asked } = lookupInHand()
  const first = lookup.find('k')
  asked[0]!.resolve(version(1))
  expect(await first).toEqual(version(1))
  expect(lookup.find('k')).toBe(lookup.find('k'))
  expect(asked).toHaveLength(1)
})

test('many who ask at once make one load', async () => {
  const { lookup, asked } = lookupInHand()
  const answers = Promise.all([1, 2, 3].map(() => lookup.find('k')))
  asked[0]!.resolve(version(1))
  expect(await answers).toEqual([version(1), version(1), version(1)])
  expect(asked).toHaveLength(1)
})

test.each(['co_1', undefined])(
  'a change told while a load runs is never hidden by its old answer (%s)',
  async (changed) => {
    const { lookup, asked } = lookupInHand()
    const before = lookup.find('k')
    lookup.invalidate(changed)
    // Who asks after the change must not join the load from before it, even while that still runs.
    const after = lookup.find('k')
    asked[1]!.resolve(version(2))
    expect(await after).toEqual(version(2))
    asked[0]!.resolve(version(1))
    await before
    expect(await lookup.find('k')).toEqual(version(2))
    expect(asked).toHaveLength(2)
  },
)

test('an old answer that comes first is not kept either', async () => {
  const { lookup, asked } = lookupInHand()
  const before = lookup.find('k')
  lookup.invalidate('co_1')
  asked[0]!.resolve(version(1))
  await before
  const after = lookup.find('k')
  asked[1]!.resolve(version(2))
  expect(await after).toEqual(version(2))
})

test('a "there is none" from before a change is not kept', async () => {
  const { lookup, asked } = lookupInHand()
  const before = lookup.find('k')
  lookup.invalidate('co_1')
  asked[0]!.resolve(null)
  expect(await before).toBeNull()
  const after = lookup.find('k')
  asked[1]!.resolve(version(1))
  expect(await after).toEqual(version(1))
})

test('a change of another company costs no load', async () => {
  const { lookup, asked } = lookupInHand()
  const first = lookup.find('k')
  asked[0]!.resolve(version(1))
  await first
  lookup.invalidate('co_2')
  expect(await lookup.find('k')).toEqual(version(1))
  expect(asked).toHaveLength(1)
})

test('an answer is fresh for ten seconds from when it was asked for', async () => {
  const { lookup, asked, clock } = lookupInHand()
  const first = lookup.find('k')
  clock.now_ms += 4_000 // PostgreSQL took its time
  asked[0]!.resolve(version(1))
  await first
  clock.now_ms += limits.credentials_fresh_ms - 4_001
  expect(await lookup.find('k')).toEqual(version(1))
  expect(asked).toHaveLength(1)
  clock.now_ms += 1
  const again = lookup.find('k')
  asked[1]!.resolve(version(2))
  expect(await again).toEqual(version(2))
})

test('a failed load is not tried again by each request, and the stale answer costs nothing meanwhile', async () => {
  const { lookup, asked, clock, counts } = lookupInHand()
  const first = lookup.find('k')
  asked[0]!.resolve(version(1))
  await first
  clock.now_ms += limits.credentials_fresh_ms
  const stale = lookup.find('k')
  asked[1]!.reject(new Error('connection refused'))
  expect(await stale).toEqual(version(1))
  for (let i = 0; i < 100; i += 1) expect(await lookup.find('k')).toEqual(version(1))
  await expect(lookup.find('new')).rejects.toMatchObject({ code: 'unavailable', headers: { 'retry-after': '1' } })
  expect(asked).toHaveLength(2)
  expect(counts).toEqual({ stale: 101, failures: 1 })
  clock.now_ms += 500
  const back = lookup.find('k')
  asked[2]!.resolve(version(2))
  expect(await back).toEqual(version(2))
})

test('a stale answer holds for ten minutes and not longer', async () => {
  const { lookup, asked, clock } = lookupInHand()
  const first = lookup.find('k')
  asked[0]!.resolve(version(1))
  await first
  clock.now_ms += limits.credentials_stale_ms_max - 1
  const last = lookup.find('k')
  asked[1]!.reject(new Error('away'))
  expect(await last).toEqual(version(1))
  clock.now_ms += 1
  await expect(lookup.find('k')).rejects.toMatchObject({ code: 'unavailable' })
})
