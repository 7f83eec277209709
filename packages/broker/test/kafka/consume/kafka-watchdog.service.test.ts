import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createWatchdog } from '../../../src/kafka/consume/kafka-watchdog.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** A consumer at `next_offset` of a partition that ends at 10, watched for `minutes`. */
async function watch(minutes: number, move: (state: { next_offset: number; busy: boolean; alive(): void }) => void) {
  const stalls: string[] = []
  const state = { next_offset: 5, busy: false, alive: () => watchdog.alive() }
  const watchdog = createWatchdog({
    watch_ms: 15_000,
    standing: async () => (state.busy ? [] : [{ partition: 0, generation: 'g', next_offset: state.next_offset }]),
    ranges: async () => [{ partition: 0, earliest: 2, end: 10 }],
    onStall: (reason) => stalls.push(reason),
  })
  for (let second = 0; second < minutes * 60; second += 1) {
    move(state)
    await vi.advanceTimersByTimeAsync(1000)
  }
  watchdog.stop()
  return stalls
}

it('sees a consumer that fetches and never moves though there is something to read', async () => {
  const stalls = await watch(1, (state) => state.alive())
  expect(stalls[0]).toMatch(/lag and no progress/)
})

it('sees a consumer that neither joins nor fetches', async () => {
  const stalls = await watch(3, (state) => {
    state.next_offset = 10
  })
  expect(stalls[0]).toBe('silence')
})

it('leaves alone who has read everything, who moves, and whose handler is at work', async () => {
  const read = await watch(5, (state) => {
    state.next_offset = 10
    state.alive()
  })
  const moving = await watch(5, (state) => {
    state.next_offset -= 1e-6
    state.alive()
  })
  const working = await watch(5, (state) => {
    state.busy = true
    state.alive()
  })
  expect([read, moving, working]).toEqual([[], [], []])
})
