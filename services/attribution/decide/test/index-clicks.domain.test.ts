import { indexClicks } from '@tributary/deciding/index-clicks'
import { candidatesOf } from '@tributary/domain/attribute/match-click'
import { expect, test } from 'vitest'
import { click, day_ms, hour_ms, install, t0 } from './model/story.ts'

const windows = { click_ms: 7 * day_ms, probabilistic: true, probabilistic_ms: day_ms }

test('the candidates among the nearest clicks of an address are those among all its clicks', () => {
  const filteredReasons = [null, 'bot', 'honeypot'] as const
  const clicks = Array.from({ length: 3000 }, (_, n) => ({
    ...click(n, { clicked_at_ms: t0 + Math.floor((n * 2 * day_ms) / 3000), ip: `192.0.2.${n % 2}` }),
    ...{ device_hashes: n % 7 === 0 ? ['device'] : [], filtered_reason: filteredReasons[n % 3]! },
  }))
  const find = indexClicks(clicks)
  for (let hour = -2; hour < 60; hour += 3) {
    const one = {
      ...install(1, { installed_at_ms: t0 + hour * hour_ms }),
      ...{ ip: '192.0.2.1', os_major: 15, device_hashes: ['device'] },
    }
    const near = find(one, windows)
    expect(near.length).toBeLessThanOrEqual(800)
    expect(candidatesOf(one, near, windows)).toEqual(candidatesOf(one, clicks, windows))
  }
})
