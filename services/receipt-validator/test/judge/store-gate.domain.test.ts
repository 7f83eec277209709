import { limits } from '@tributary/contracts/limits'
import { describe, expect, test } from 'vitest'
import { createStoreGate } from '../../src/judge/store-gate.ts'

type Answer = 'bought' | 'store_away' | 'not_found'

/** A gate with a clock that a test moves, and a store that answers as it says. */
function gateUnderTest() {
  let elapsed_ms = 1_000_000
  let asked = 0
  const gate = createStoreGate(() => elapsed_ms)
  const say = (answer: Answer) => async () => {
    asked += 1
    return answer
  }
  return {
    gate,
    /** Puts a question to a store that gives this answer. */
    ask: (answer: Answer) => gate.ask<Answer>(say(answer)),
    say,
    advance(ms: number) {
      elapsed_ms += ms
    },
    /** Requests since the last look. */
    requests() {
      const count = asked
      asked = 0
      return count
    },
  }
}

describe('the gate of an app to a store', () => {
  test('lets 40 requests a second through', async () => {
    const { gate, say } = gateUnderTest()
    const from_ms = performance.now()
    const begun = await Promise.all(
      Array.from({ length: 21 }, () =>
        gate.ask(async () => {
          await say('bought')()
          return { begun_ms: performance.now() - from_ms }
        }),
      ),
    )
    const gap_ms = 1000 / limits.store_requests_per_s_max
    expect(gap_ms).toBe(25)
    // Timers of Node may fire a millisecond early.
    for (const [n, one] of begun.entries())
      expect((one as { begun_ms: number }).begun_ms).toBeGreaterThanOrEqual(n * gap_ms - 2)
  })

  test('has one request after each rest, and rests from 1 s on, doubled up to 60 s, while the store is away', async () => {
    const { gate, ask, advance, requests } = gateUnderTest()
    const rests_s: number[] = []
    for (let n = 0; n < 9; n += 1) {
      expect(await Promise.all(Array.from({ length: 5 }, () => ask('store_away')))).not.toContain('bought')
      rests_s.push(gate.rest_ms() / 1000)
      expect(requests()).toBe(1)
      advance(gate.rest_ms() - 1)
      expect(await ask('bought')).toBe('store_away')
      expect(requests()).toBe(0)
      advance(1)
    }
    expect(rests_s).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60])
  })

  test('has no request while the one after a rest is under way, and all once it was answered', async () => {
    const { gate, ask, advance, requests } = gateUnderTest()
    await ask('store_away')
    advance(1000)
    const probe = Promise.withResolvers<Answer>()
    const asked = gate.ask(() => probe.promise)
    expect(await ask('bought')).toBe('store_away')
    expect(requests()).toBe(1)
    probe.resolve('bought')
    expect(await asked).toBe('bought')
    advance(1000)
    expect(await ask('bought')).toBe('bought')
    await ask('store_away')
    expect(gate.rest_ms()).toBe(1000)
  })

  test('counts several requests that failed together as one', async () => {
    const { gate, advance } = gateUnderTest()
    const failing = Promise.withResolvers<Answer>()
    const sent = Promise.withResolvers<void>()
    const first = gate.ask(() => failing.promise)
    advance(1000)
    const second = gate.ask(() => {
      sent.resolve()
      return failing.promise
    })
    await sent.promise
    failing.resolve('store_away')
    expect(await Promise.all([first, second])).toEqual(['store_away', 'store_away'])
    expect(gate.rest_ms()).toBe(1000)
  })

  test('does not rest for a store that denies, nor stays shut after a question that throws', async () => {
    const { gate, ask, advance } = gateUnderTest()
    expect(await ask('not_found')).toBe('not_found')
    expect(gate.rest_ms()).toBe(0)
    await ask('store_away')
    advance(1000)
    await expect(gate.ask(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
    advance(1000)
    expect(await ask('bought')).toBe('bought')
  })
})
