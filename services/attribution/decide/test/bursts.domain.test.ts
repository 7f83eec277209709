import { type AppWork, loadFacts } from '@tributary/deciding/evidence'
import { roundsOf } from '@tributary/testing/rounds'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryLookups } from './model/memory-lookups.ts'
import { app_id, install, t0 } from './model/story.ts'

const network = '192.0.2.1'
const elsewhere = '198.51.100.1'
const newest = install(1000, { ip: network, installed_at_ms: t0 })

/** How many installs before the newest count, and how many were opened to know it. `counts` tells of each whether it does, newest first. */
async function countBefore(counts: readonly boolean[]) {
  const facts = counts.flatMap((isCounted, n) => {
    const of = { install_uuid: `i${n}`, installed_at_ms: t0 - (n + 1) * 1000 }
    const opening = install(n, { ...of, ip: network, event_name: 'app_first_open' })
    // The install that counts was received from another network.
    return isCounted ? [opening] : [opening, install(n + counts.length, { ...of, ip: elsewhere })]
  })
  const lookups = memoryLookups({ facts: [...facts, newest], clicks: [], newest: new Map(), floods: [] })
  const opened = new Set<string>()
  const counting: typeof lookups = {
    ...lookups,
    facts(app_id, uuids, asked) {
      for (const uuid of uuids) opened.add(uuid)
      return lookups.facts(app_id, uuids, asked)
    },
  }
  const work = { app: { app_id }, facts: [newest], again: new Set() } as unknown as AppWork
  const { neighbours } = await loadFacts(counting, work)
  opened.delete(newest.install_uuid)
  return { before: neighbours.before(newest), opened: opened.size }
}

test('of a busy network few installs are opened to know a burst', async () => {
  const { before, opened } = await countBefore(Array.from({ length: 200 }, () => true))
  expect(before).toBe(20)
  expect(opened).toBe(25)
})

test('whichever installs of a network count, 20 make a burst and 19 do not', async () => {
  const counts = fc.array(fc.boolean(), { minLength: 15, maxLength: 70, size: 'max' })
  let bursts = 0
  let deep = 0
  await fc.assert(
    fc.asyncProperty(counts, async (counts) => {
      const { before, opened } = await countBefore(counts)
      const all = counts.filter(Boolean).length
      if (all >= 20) bursts += 1
      if (opened > 25) deep += 1
      expect(before >= 20).toBe(all >= 20)
    }),
    { numRuns: roundsOf(100) },
  )
  expect(bursts).toBeGreaterThan(10)
  expect(deep).toBeGreaterThan(10)
})
