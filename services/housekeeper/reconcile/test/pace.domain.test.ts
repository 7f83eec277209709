import { expect, test } from 'vitest'
import { createPace } from '../src/pace.ts'

const running = new AbortController().signal

/** Works for about so long, pausing as looks do, and gives the CPU that it took and the rests, ms. */
async function work(share: number, wall_ms: number) {
  let rested_ms = 0
  const rests = async (ms: number) => {
    rested_ms += ms
  }
  const pace = createPace(share, running, { rests })
  const before = process.cpuUsage()
  const until = performance.now() + wall_ms
  while (performance.now() < until) {
    for (let n = 0; n < 1000; n += 1) Math.sqrt(n)
    await pace.pause()
  }
  const { user, system } = process.cpuUsage(before)
  return { busy_ms: (user + system) / 1000, rested_ms }
}

test.each([0.02, 0.5])('work at %s of a core rests for as long as its CPU allows', async (share) => {
  const { busy_ms, rested_ms } = await work(share, 100)
  // The last slice has no rest yet.
  expect(busy_ms / (busy_ms + rested_ms)).toBeLessThan(share * 1.3)
  expect(rested_ms).toBeGreaterThan(0)
})

test('at a whole core it rests never', async () => {
  expect((await work(1, 20)).rested_ms).toBe(0)
})

test('the time of a statement counts as work of a core, and it rests behind it', async () => {
  const rests: number[] = []
  const pace = createPace(0.5, running, { rests: async (ms) => void rests.push(ms) })
  const query = async () => {
    const until = performance.now() + 30
    while (performance.now() < until) await new Promise(setImmediate)
    return []
  }
  await pace.paced({ query }).query('SELECT 1')
  expect(rests).toEqual([expect.toSatisfy((ms: number) => ms >= 29)])
})

test('a stop ends the rest', async () => {
  const stop = new AbortController()
  const pace = createPace(0.0001, stop.signal)
  const until = performance.now() + 10
  while (performance.now() < until) Math.sqrt(2)
  const resting = pace.pause()
  stop.abort(new Error('stopped'))
  await expect(resting).rejects.toThrow()
})

test('CPU of the process and time of statements together keep to the share, however they alternate', async () => {
  const clock = { now: 0, cpu: 0, rested: 0 }
  const pace = createPace(0.02, running, {
    now_ms: () => clock.now,
    cpu_ms: () => clock.cpu,
    async rests(ms) {
      clock.now += ms
      clock.rested += ms
    },
  })
  const engine = pace.paced({
    async query() {
      clock.now += 30
      return []
    },
  })
  for (let n = 0; n < 20; n += 1) {
    await engine.query('SELECT 1')
    clock.now += 20
    clock.cpu += 20
    await pace.pause()
  }
  expect((20 * (20 + 30)) / clock.now).toBeCloseTo(0.02, 5)
})
