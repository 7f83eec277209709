import { hour_ms, limits } from '@tributary/contracts/limits'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { story, tell } from './arrivals.ts'

const real = { ...limits }
/** So few that a story has crowds; like the real window longer than clicks are shown after an install. */
beforeAll(() => void Object.assign(limits, { crowd_facts: 2, crowd_window_ms: 30 * hour_ms }))
afterAll(() => void Object.assign(limits, real))

test('whatever comes first, crowded keys match no click and clicks are seen by the first installs after them', async () => {
  let crowded = 0
  await fc.assert(
    fc.asyncProperty(story, async (told) => {
      const { verdicts, expected } = await tell(told)
      expect(verdicts).toEqual(expected)
      const flags = Object.values(expected).flatMap(({ verdict }) => verdict?.fraud_flags ?? [])
      crowded += flags.filter((flag) => flag === 'crowded_device').length
    }),
    { numRuns: Number(process.env.TRIBUTARY_TEST_HISTORIES ?? 600) },
  )
  expect(crowded).toBeGreaterThan(10)
})
