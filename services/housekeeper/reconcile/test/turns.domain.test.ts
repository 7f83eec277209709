import { expect, test } from 'vitest'
import { turnOf } from '../src/hours/turns.ts'

test.each([
  [1, 1],
  [60, 2],
  [90, 6],
  [100, 7],
])('each of %i apps comes with each of %i old days within a full round', (app_count, day_count) => {
  const apps = Array.from({ length: app_count }, (_, n) => `app_${String(n).padStart(3, '0')}`)
  const days = Array.from({ length: day_count }, (_, n) => `2026-05-0${n + 1}`)
  const hours = Math.ceil(app_count / 30) * day_count
  const met = new Set<string>()
  for (let turn = 5; turn < 5 + hours; turn += 1) {
    const { old_day, has } = turnOf({ apps, days, turn })
    const chosen = apps.filter(has)
    expect(chosen.length).toBeLessThanOrEqual(30)
    for (const app_id of chosen) met.add(`${app_id} ${old_day}`)
  }
  expect(met.size).toBe(app_count * day_count)
})
