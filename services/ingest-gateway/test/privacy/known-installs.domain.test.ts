import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { createKnownInstalls } from '../../src/privacy/known-installs.ts'

test('knows the newest installs, and few that it never saw', () => {
  const max = 2000
  const known = createKnownInstalls(max)
  const keys = Array.from({ length: 5 * max }, () => `app_1/${randomUUID()}`)
  for (const [at, key] of keys.entries()) {
    known.note(key)
    for (const earlier of [at, at - max + 1]) if (earlier >= 0) expect(known.has(keys[earlier]!)).toBe(true)
  }
  expect(keys.slice(0, 2 * max).filter((key) => known.has(key)).length).toBeLessThan(2 * max * 0.02)
  const strangers = Array.from({ length: 10_000 }, () => `app_1/${randomUUID()}`)
  expect(strangers.filter((key) => known.has(key)).length).toBeLessThan(200)
})

test('an install that goes on sending stays known', () => {
  const known = createKnownInstalls(100)
  for (let n = 0; n < 1000; n += 1) {
    known.note('app_1/regular')
    known.note(`app_1/${n}`)
  }
  expect(known.has('app_1/regular')).toBe(true)
  expect(known.has('app_1/0')).toBe(false)
})
