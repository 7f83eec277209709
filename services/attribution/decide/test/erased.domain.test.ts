import type { Decision } from '@tributary/contracts/attribution/decision'
import { limits } from '@tributary/contracts/limits'
import type { Lookups } from '@tributary/deciding/lookups/lookups'
import { withoutErased } from '@tributary/deciding/lookups/without-erased'
import { isGone } from '@tributary/domain/erasure/tombstones'
import { memoryTombstones } from '@tributary/testing/twins/memory-tombstones'
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { fewMakeACrowd, story, tell } from './model/arrivals.ts'
import { app_id, hour_ms, t0 } from './model/story.ts'
import { bruteForce } from './model/world.ts'

/** Batches after which the re-decisions of an erasure go round in a circle. */
const batches_max = 1000

const real = { ...limits }
afterEach(() => void Object.assign(limits, real))

test.each([
  ['without crowds', {}],
  ['across crowds', fewMakeACrowd],
])(
  'after an erasure every install gets the verdict of what remains, before the deletes and after them, %s',
  async (_what, changed) => {
    Object.assign(limits, changed)
    // Install, hour of the mark, and whether the click that it won is known to be erased by then.
    const one = fc.tuple(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 50 }), fc.boolean())
    const erasures = fc.array(one, {
      minLength: 1,
      maxLength: 3,
    })
    await fc.assert(
      fc.asyncProperty(story, erasures, fc.boolean(), async (told, erased, looks_before) => {
        const { loop, clock, verdicts } = await tell(told)
        const store = memoryTombstones()
        for (const [n, hours, with_click] of erased) {
          const mark_ms = t0 + hours * hour_ms
          store.erase(app_id, `i${n}`, mark_ms)
          const { received_at_ms, verdict } = verdicts[`i${n}`] ?? {}
          if (with_click && received_at_ms !== undefined && received_at_ms <= mark_ms && verdict?.click_id)
            store.eraseClick(app_id, verdict.click_id)
        }
        const tombstones = await store.upTo(await store.newest())
        const isErasedClick = (click_id: string) => tombstones.isErasedClick(app_id, click_id)
        const left = told.facts.filter((fact) => !isGone(tombstones, fact))
        const clicks = told.clicks.filter(({ click_id }) => !isErasedClick(click_id))
        const living = async () =>
          Object.fromEntries(
            Object.entries(await loop.verdicts()).filter(([, verdict]) => !isGone(tombstones, verdict)),
          )
        const decideAll = async () => {
          await loop.decideAllAgain()
          // The log still has the facts of the erased life: they come again.
          loop.found.push(...told.facts)
          for (let batches = 0; loop.hasWork(); batches += 1) {
            if (batches > batches_max) throw new Error('re-decisions do not come to an end')
            await loop.handle(3, [], async () => {})
          }
        }
        await loop.pin(tombstones)
        const { tables } = loop
        if (looks_before) {
          await decideAll()
          // An erased click still takes the place of a lost candidate: a look-up is cut before it leaves that click out.
          const expected = bruteForce(left, clicks, clock.ms, isErasedClick)
          expect(withoutLost(await living())).toEqual(withoutLost(expected))
        }
        tables.facts = tables.facts.filter((fact) => !isGone(tombstones, fact))
        tables.clicks = tables.clicks.filter(({ click_id }) => !isErasedClick(click_id))
        for (const [uuid, decision] of tables.newest) if (isGone(tombstones, decision)) tables.newest.delete(uuid)
        await decideAll()
        expect(await living()).toEqual(bruteForce(left, clicks, clock.ms, isErasedClick))
        expect(tables.facts.filter((fact) => isGone(tombstones, fact))).toEqual([])
      }),
      { numRuns: 100 },
    )
  },
)

/** Decisions without their lost candidates. */
const withoutLost = (decisions: Record<string, Pick<Decision, 'candidates'>>) =>
  Object.fromEntries(
    Object.entries(decisions).map(([install_uuid, decision]) => {
      const candidates = decision.candidates.filter(({ outcome }) => outcome !== 'lost')
      return [install_uuid, { ...decision, candidates }]
    }),
  )

test('hits of another app of the company are no evidence while nobody can tell which of them were erased', async () => {
  const store = memoryTombstones()
  store.eraseClick('other', 'erased')
  store.locked.add('other')
  const hit = (of: string, click_id: string) => ({ app_id: of, click_id })
  const hits = async () => [hit(app_id, 'own'), hit('other', 'kept'), hit('other', 'erased')]
  const found = async () => {
    const lookups = withoutErased({ hits } as unknown as Lookups, await store.upTo(1))
    return (await lookups.hits([app_id, 'other'], [])).map(({ click_id }) => click_id)
  }
  expect(await found()).toEqual(['own'])
  store.locked.clear()
  expect(await found()).toEqual(['own', 'kept'])
})
