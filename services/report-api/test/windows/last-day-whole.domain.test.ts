import { day_ms } from '@tributary/contracts/limits'
import { expect, test } from 'vitest'
import { readLastDayWhole } from '../../src/last-day-whole.ts'
import { windowDays } from '../../src/window-days.ts'

const march = (day: number, ms = 0) => Date.UTC(2026, 2, day) + ms
const dated = { table: 'events_raw_v1', time_column: 'ts_ms' }

/** The ends of the windows that are read; `later` says whether each look finds a row that is dated later. */
async function endsOf({ since_ms = march(1, 5), until_ms }: { since_ms?: number; until_ms: number }, later: boolean[]) {
  const looks = [...later]
  const query = async <Row>() => {
    const found = looks.shift()
    if (found === undefined) throw new Error('one look too many')
    return found ? [{ later: 1 } as Row] : []
  }
  const ends: number[] = []
  const window = windowDays({ since_ms, until_ms })!
  const answer = await readLastDayWhole({ clickhouse: { query }, app_id: 'a', window, dated }, async (covered) => {
    expect(covered.since_ms).toBe(since_ms)
    return ends.push(covered.until_ms)
  })
  expect(answer).toBe(ends.length)
  expect(looks).toEqual([])
  return ends
}

const noon = march(4, day_ms / 2)

test('a window until now is read to the end of its day while nothing is dated later', async () => {
  expect(await endsOf({ until_ms: noon }, [false, false])).toEqual([march(5)])
  expect(await endsOf({ since_ms: march(4), until_ms: noon }, [false, false])).toEqual([march(5)])
})

test('a window is read as it is when something is dated at its end or later, before it is read or meanwhile', async () => {
  expect(await endsOf({ until_ms: noon }, [true])).toEqual([noon])
  expect(await endsOf({ until_ms: noon }, [false, true])).toEqual([march(5), noon])
})

test('a window until midnight, and one within a day, needs no look', async () => {
  expect(await endsOf({ until_ms: march(4) }, [])).toEqual([march(4)])
  expect(await endsOf({ since_ms: march(4, 1), until_ms: noon }, [])).toEqual([noon])
})
