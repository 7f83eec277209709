import { limits } from '@tributary/contracts/limits'
import { roundsOf } from '@tributary/testing/rounds'
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { fewMakeACrowd, type Story, story, tell } from './model/arrivals.ts'
import { click, hour_ms, install, t0 } from './model/story.ts'

const real = { ...limits }
afterEach(() => void Object.assign(limits, real))

test('whatever comes first, crowded keys match no click and clicks are seen by the first installs after them', async () => {
  Object.assign(limits, fewMakeACrowd)
  let crowded = 0
  await fc.assert(
    fc.asyncProperty(story, async (told) => {
      const { verdicts, expected } = await tell(told)
      expect(verdicts).toEqual(expected)
      const flags = Object.values(expected).flatMap(({ verdict }) => verdict?.fraud_flags ?? [])
      crowded += flags.filter((flag) => flag === 'crowded_device').length
    }),
    { numRuns: roundsOf(150) },
  )
  expect(crowded).toBeGreaterThan(10)
})

/** 200 installs of one address, or of one device, and clicks among them. */
const busyKey = fc.boolean().chain((is_device) => {
  const clues = is_device ? { device_hashes: ['d'] } : { ip: '192.0.2.1', os_major: 15 }
  const minutes = (length: number) =>
    fc.array(fc.integer({ min: 0, max: 600 }), { minLength: length, maxLength: length, size: 'max' })
  return fc.record({
    clicks: minutes(4).map((all) =>
      all.map((n, index) => click(index, { ip: '192.0.2.9', os_major: 14, ...clues, clicked_at_ms: t0 + n * 60_000 })),
    ),
    facts: minutes(200).map((all) =>
      all.map((n, index) => {
        const place = { topic: `events.accepted.v1@${index % 2}`, partition: index % 2, offset: index, index: 0 }
        return install(index, { ...clues, place, is_sdk: false, installed_at_ms: t0 + hour_ms + n * 60_000 })
      }),
    ),
    picks: fc.infiniteStream(fc.nat(1000)),
  })
})

test('whatever comes first of 200 installs with one key and the clicks that they see, the verdicts are those of the whole', async () => {
  await fc.assert(
    fc.asyncProperty(busyKey as fc.Arbitrary<Story>, async (told) => {
      const { verdicts, expected } = await tell(told)
      expect(verdicts).toEqual(expected)
    }),
    { numRuns: 2, endOnFailure: true },
  )
})
