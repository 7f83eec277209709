import { clickIdShape } from '@tributary/contracts/attribution/click'
import { clickTime } from '@tributary/domain/attribute/click-token'
import { createClickIds } from '@tributary/domain/link/click-id'
import { expect, it } from 'vitest'

it('mints ids in order, each with its time, also 10,000 in a millisecond and with a clock set back a little', () => {
  let now_ms = Date.UTC(2026, 5, 1)
  const mint = createClickIds(() => now_ms)
  const minted = Array.from({ length: 10_000 }, mint)
  now_ms -= 4_000
  minted.push(mint())
  const ids = minted.map(({ click_id }) => click_id)
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
  for (const { click_id, clicked_at_ms } of minted) {
    if (!clickIdShape.test(click_id) || clickTime(click_id) !== clicked_at_ms) expect.fail(click_id)
  }
  expect(minted.at(-1)!.clicked_at_ms - Date.UTC(2026, 5, 1)).toBeLessThan(10)
})

it('follows a clock that stepped far forward and back again, with ids that differ from those before', () => {
  const t0 = Date.UTC(2026, 5, 1)
  let now_ms = t0
  const mint = createClickIds(() => now_ms)
  const minted = [mint()]
  now_ms = t0 + 3_600_000
  minted.push(mint())
  now_ms = t0
  minted.push(mint(), mint())
  expect(minted.map(({ clicked_at_ms }) => clicked_at_ms - t0)).toEqual([0, 3_600_000, 0, 0])
  expect(new Set(minted.map(({ click_id }) => click_id)).size).toBe(4)
  expect(minted[3]!.click_id > minted[2]!.click_id).toBe(true)
})
