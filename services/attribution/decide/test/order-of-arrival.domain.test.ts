import { limits } from '@tributary/contracts/limits'
import { roundsOf } from '@tributary/testing/rounds'
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { aliasStory, story, storyOfTwo, tell } from './model/arrivals.ts'

const real = { ...limits }
afterEach(() => void Object.assign(limits, real))

test('whatever comes first, twice, cut anyhow, killed or late, every install gets the verdict and the reasons of the whole', async () => {
  await fc.assert(
    fc.asyncProperty(story, async (told) => {
      const { verdicts, expected } = await tell(told)
      expect(verdicts).toEqual(expected)
    }),
    { numRuns: roundsOf(200) },
  )
})

test('the same holds of each of two apps whose installs share batches, which are killed between one and the other', async () => {
  await fc.assert(
    fc.asyncProperty(storyOfTwo, async (told) => {
      const { verdicts, expected } = await tell(told)
      expect(verdicts).toEqual(expected)
    }),
    { numRuns: roundsOf(100) },
  )
})

test('the same holds where aliases of an install tell of more users than count', async () => {
  Object.assign(limits, { install_aliases_max: 1 })
  await fc.assert(
    fc.asyncProperty(aliasStory, async (told) => {
      const { verdicts, expected } = await tell(told)
      expect(verdicts).toEqual(expected)
    }),
    { numRuns: roundsOf(500) },
  )
})
