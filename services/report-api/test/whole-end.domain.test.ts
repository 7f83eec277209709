import { day_ms } from '@tributary/contracts/limits'
import { expect, test } from 'vitest'
import { readWholeEnd } from '../src/whole-end.ts'
import { windowDays } from '../src/window-days.ts'

const march = (day: number, ms = 0) => Date.UTC(2026, 2, day) + ms
const since_ms = march(1, 5)
const dated = [{ table: 'events_raw_v1', time_column: 'ts_ms' }]

/** The ends of the windows that are read, when something dated later is found by the n-th look. */
async function endsOf(until_ms: number, later: readonly boolean[]) {
  const looks = [...later]
  const clickhouse = { query: async <Row>() => (looks.shift() ? [{ later: 1 } as Row] : []) }
  const ends: number[] = []
  const days = windowDays({ since_ms, until_ms })!
  const answer = await readWholeEnd(
    { clickhouse, app_id: 'a', days, dated },
    async ({ since_ms: from_ms, until_ms }) => {
      expect(from_ms).toBe(since_ms)
      return ends.push(until_ms)
    },
  )
  expect(answer).toBe(ends.length)
  expect(looks).toEqual([])
  return ends
}

test('a window until now is read to the end of its day while nothing is dated later', async () => {
  expect(await endsOf(march(4, day_ms / 2), [false, false])).toEqual([march(5)])
  expect(await endsOf(march(1, 6), [false, false])).toEqual([march(2)])
})

test('a window is read as it is when something is dated at its end or later, before it is read or meanwhile', async () => {
  const noon = march(4, day_ms / 2)
  expect(await endsOf(noon, [true])).toEqual([noon])
  expect(await endsOf(noon, [false, true])).toEqual([march(5), noon])
})

test('a window until midnight needs no look', async () => {
  expect(await endsOf(march(4), [])).toEqual([march(4)])
})
