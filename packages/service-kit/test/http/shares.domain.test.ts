import { createShares, senderHolders } from '@tributary/service-kit/http/shares'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const total = 1000
const takes = fc.array(
  fc.record({
    app: fc.constantFrom('a', 'b', 'c'),
    address: fc.constantFrom('1', '2'),
    amount: fc.integer({ min: 1, max: 600 }),
    give: fc.boolean(),
  }),
)

test('nobody has more than was free, who has something never takes the last, and everything comes back', () => {
  fc.assert(
    fc.property(takes, (steps) => {
      const shares = createShares(total)
      const held: { holders: string[]; amount: number }[] = []
      const of = (holder: string) =>
        held.filter(({ holders }) => holders.includes(holder)).reduce((sum, { amount }) => sum + amount, 0)
      for (const { app, address, amount, give } of steps) {
        const holders = [`app ${app}`, `address ${address}`]
        const free = total - held.reduce((sum, one) => sum + one.amount, 0)
        const hasSomething = holders.some((holder) => of(holder) > 0)
        const took = shares.take(holders, amount)
        if (took && hasSomething) expect(shares.taken()).toBeLessThan(total)
        expect(took).toBe(holders.every((holder) => of(holder) + amount <= free))
        if (took) held.push({ holders, amount })
        if (give && held.length > 0) {
          const { holders, amount } = held.shift()!
          shares.give(holders, amount)
        }
        const taken = held.reduce((sum, one) => sum + one.amount, 0)
        expect(shares.taken()).toBe(taken)
        expect(shares.fits(['app new', 'address new'], total - taken)).toBe(true)
      }
      for (const { holders, amount } of held) shares.give(holders, amount)
      expect(shares.taken()).toBe(0)
      expect(shares.fits(['app a', 'address 1'], total)).toBe(true)
    }),
    { numRuns: 1000 },
  )
})

/** Apps take one at a time in turns until nothing is left for any of them; returns what they got together. */
function takeAll(shares: ReturnType<typeof createShares>, company_id: string, apps: number): number {
  const before = shares.taken()
  const senders = Array.from({ length: apps }, (_, n) => senderHolders({ company_id, app_id: `${company_id} ${n}` }))
  while (senders.filter((holders) => shares.take(holders, 1)).length > 0);
  return shares.taken() - before
}

test.each([
  [1, 500],
  [2, 667],
  [200, 667],
])('a company with %i apps has %i of 1000 at most, and the next one a part of the rest', (apps, most) => {
  const shares = createShares(total)
  expect(takeAll(shares, 'many', apps)).toBe(most)
  expect(takeAll(shares, 'one', 1)).toBeGreaterThanOrEqual(total / 6 - 1)
})

test('an app that has all that it may leaves something to the other apps of its company', () => {
  const shares = createShares(total)
  takeAll(shares, 'co', 1)
  const sibling = senderHolders({ company_id: 'co', app_id: 'sibling' })
  expect(shares.take(sibling, 100)).toBe(true)
})
