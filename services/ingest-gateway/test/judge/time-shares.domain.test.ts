import { expect, test } from 'vitest'
import { createTimeShares } from '../../src/judge/threads/time-shares.ts'

interface Sender {
  company_id: string
  app_id: string
}
/** An app of a company of its own. */
const alone = (name: string): Sender => ({ company_id: name, app_id: name })

function open() {
  let now_ms = 0
  const time = createTimeShares({ ms_per_s: 800, now: () => now_ms })
  const spend = (sender: Sender, ms: number) =>
    time.measure(sender, () => {
      now_ms += ms
    })
  /** The ms of a second that senders get together when they take all that they may, 5 ms in turn; the last may go beyond. */
  const takeAll = (...senders: Sender[]) => {
    const from_ms = now_ms
    for (let left = true; left && now_ms - from_ms < 1000; ) {
      const those = senders.filter((sender) => time.isLeft(sender, 0.5))
      for (const sender of those) if (time.isLeft(sender, 0.5)) spend(sender, 5)
      left = those.length > 0
    }
    return now_ms - from_ms
  }
  const pass = (ms: number) => {
    now_ms += ms
  }
  return { time, takeAll, pass }
}

test('an app alone has half of what there is, the next one a part of the rest, and each newcomer a turn', () => {
  const { takeAll, time } = open()
  expect(takeAll(alone('a'))).toBe(405)
  expect(takeAll(alone('b'))).toBe(200)
  expect(time.isLeft(alone('a'), 0.5)).toBe(false)
  expect(time.isLeft(alone('newcomer'), 0.5)).toBe(true)
})

test('the apps of a company have two thirds together, however many they are, and its new ones nothing then', () => {
  const { takeAll, time } = open()
  const apps = Array.from({ length: 200 }, (_, n) => ({ company_id: 'many', app_id: `app ${n}` }))
  expect(takeAll(...apps)).toBeLessThanOrEqual(540)
  expect(time.isLeft({ company_id: 'many', app_id: 'new' }, 0.5)).toBe(false)
  expect(takeAll(alone('one'))).toBeGreaterThanOrEqual(130)
})

test('where nothing is left, newcomers with slow bodies find no time, however many; those with quick ones do', () => {
  const { takeAll, time, pass } = open()
  const pay = (sender: Sender, ms: number) => {
    if (time.isLeft(sender, ms)) time.measure(sender, () => pass(ms))
  }
  for (let n = 0; n < 200; n += 1) pay(alone(`slow ${n}`), 13)
  expect(takeAll()).toBe(0)
  expect(time.isLeft(alone('slow'), 13)).toBe(false)
  expect(time.isLeft(alone('quick'), 0.5)).toBe(true)
  pass(1000 - 61 * 13)
  expect(time.isLeft(alone('slow'), 13)).toBe(true)
})

test('each second begins anew, also after work that failed', () => {
  const { takeAll, time, pass } = open()
  takeAll(alone('a'))
  expect(() =>
    time.measure(alone('b'), () => {
      pass(700)
      throw new Error('no JSON')
    }),
  ).toThrow('no JSON')
  expect(time.isLeft(alone('b'), 0.5)).toBe(true)
  expect(takeAll(alone('a'))).toBe(405)
})
