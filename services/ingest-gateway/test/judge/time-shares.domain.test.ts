import { expect, test } from 'vitest'
import { createTimeShares } from '../../src/judge/threads/time-shares.ts'

function open() {
  let now_ms = 0
  const time = createTimeShares({ ms_per_s: 800, now: () => now_ms })
  const spend = (holder: string, ms: number) =>
    time.measure(holder, () => {
      now_ms += ms
    })
  /** The ms of a second that a holder gets when it takes all that it may, 5 ms at a time; the last may go beyond. */
  const takeAll = (holder: string) => {
    let taken_ms = 0
    for (; time.isLeft(holder) && taken_ms < 1000; taken_ms += 5) spend(holder, 5)
    return taken_ms
  }
  const pass = (ms: number) => {
    now_ms += ms
  }
  return { time, takeAll, pass }
}

test('a holder alone has half of what there is, the next one a part of the rest, and each newcomer a turn', () => {
  const { takeAll, time } = open()
  expect(takeAll('a')).toBe(405)
  expect(takeAll('b')).toBe(200)
  expect(time.isLeft('a')).toBe(false)
  expect(time.isLeft('newcomer')).toBe(true)
})

test('each second begins anew, also after work that failed', () => {
  const { takeAll, time, pass } = open()
  takeAll('a')
  expect(() =>
    time.measure('b', () => {
      pass(700)
      throw new Error('no JSON')
    }),
  ).toThrow('no JSON')
  expect(time.isLeft('b')).toBe(true)
  expect(takeAll('a')).toBe(405)
})
