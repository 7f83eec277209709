import { hour_ms } from '@tributary/contracts/limits'
import { expect, test } from 'vitest'
import { firstLook } from '../src/look/suspects.ts'

const object = (key: string, received_at_ms: number | null) => ({ key, received_at_ms, read: async () => null })

test('the second look keeps what the first one has named of the same store', () => {
  const { first, second } = firstLook()
  expect(first.counts('events_raw_v1', 'e1')).toBe(true)
  const { counts } = second(new Set())
  expect([counts('events_raw_v1', 'e1'), counts('events_raw_v1', 'e2'), counts('audit', 'e1')]).toEqual([
    true,
    false,
    false,
  ])
})

test('the second look reads objects of its hours, groups that began just before them, and named ones', () => {
  const { first, second } = firstLook()
  first.readAgain('named')
  const { isChosen } = second(new Set([hour_ms]))
  const chosen = (key: string, at_ms: number | null) => isChosen(object(key, at_ms))
  expect([chosen('x', hour_ms + 5), chosen('x', hour_ms - 1000), chosen('named', null)]).toEqual([true, true, true])
  expect([chosen('x', hour_ms - 120_000), chosen('x', 2 * hour_ms), chosen('x', null)]).toEqual([false, false, false])
})

test('with more names than are remembered nothing is left out', () => {
  const { first, second } = firstLook()
  for (let n = 0; n < 200_000; n += 1) first.counts('events_raw_v1', `e${n}`)
  const { counts, isChosen } = second(new Set())
  expect([counts('events_raw_v1', 'another'), isChosen(object('x', null))]).toEqual([true, true])
})
