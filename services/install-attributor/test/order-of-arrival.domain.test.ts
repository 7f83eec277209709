import fc from 'fast-check'
import { expect, test } from 'vitest'
import { story, tell } from './model/arrivals.ts'

test('whatever comes first, twice, cut anyhow, killed or late, every install gets the verdict and the reasons of the whole', async () => {
  await fc.assert(
    fc.asyncProperty(story, async (told) => {
      const { verdicts, expected } = await tell(told)
      expect(verdicts).toEqual(expected)
    }),
    { numRuns: Number(process.env.TRIBUTARY_TEST_HISTORIES ?? 600) },
  )
})
