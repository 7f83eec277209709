import { setImmediate as nextTurn } from 'node:timers/promises'
import { noTombstones } from '@tributary/domain/erasure/tombstones'
import { memoryAttributionApps } from '@tributary/testing/twins/attribution-apps'
import { expect, test, vi } from 'vitest'
import { findRedecisions } from '../src/late-clicks.ts'
import { clickOf, newAppId, noon } from './stage.ts'

test('others get their turn while the installs that see late clicks are looked for', async () => {
  const app_id = newAppId()
  const clicks = Array.from({ length: 200 }, (_, n) => clickOf({ app_id, clicked_at_ms: noon + n }))
  const apps = memoryAttributionApps([{ app_id }])
  // Each look at the clock is a millisecond later.
  let now_ms = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now_ms++)
  let done = false
  const finding = Array.fromAsync(
    findRedecisions({ clickhouse: { query: async () => [] }, apps, tombstones: noTombstones }, clicks),
  ).finally(() => {
    done = true
  })
  let turns = 0
  for (; !done; turns += 1) await nextTurn()
  expect(await finding).toEqual([])
  expect(turns).toBeGreaterThan(clicks.length / 5)
})
