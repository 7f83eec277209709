import { day_ms } from '@tributary/contracts/limits'
import { expect, test } from 'vitest'
import { readLastDayWhole } from '../../src/last-day-whole.ts'
import { windowDays } from '../../src/window-days.ts'

const march = (day: number, ms = 0) => Date.UTC(2026, 2, day) + ms

/** What is read of March 4, in turn; `others` says of each look whether it finds events that the window has not. */
async function readOf(
  { since_ms = march(1, 5), until_ms }: { since_ms?: number; until_ms: number },
  others: boolean[],
) {
  const looks = [...others]
  const query = async <Row>() => {
    const found = looks.shift()
    if (found === undefined) throw new Error('one look too many')
    return found ? [{ other: 1 } as Row] : []
  }
  const read: string[] = []
  const window = windowDays({ since_ms, until_ms })!
  const answer = await readLastDayWhole({ clickhouse: { query }, app_id: 'a', window }, async (days) => {
    // Rows that have a time are bounded by it in any case.
    expect(days).toMatchObject({ since_ms, until_ms })
    const isWhole = days.whole_from <= '2026-03-04' && days.whole_to > '2026-03-04'
    return read.push(isWhole ? 'whole' : days.edge_days.includes('2026-03-04') ? 'a part' : 'nothing')
  })
  expect(answer).toBe(read.length)
  expect(looks).toEqual([])
  return read
}

const noon = march(4, day_ms / 2)

test('the last day of a window until now is read as whole while no look finds others', async () => {
  expect(await readOf({ until_ms: noon }, [false, false])).toEqual(['whole'])
  expect(await readOf({ since_ms: march(4), until_ms: noon }, [false, false])).toEqual(['whole'])
})

test('a part of it is read when a look finds others, before or meanwhile', async () => {
  expect(await readOf({ until_ms: noon }, [true])).toEqual(['a part'])
  expect(await readOf({ until_ms: noon }, [false, true])).toEqual(['whole', 'a part'])
})

test('a window until midnight, and one within a day, needs no look', async () => {
  expect(await readOf({ until_ms: march(4) }, [])).toEqual(['nothing'])
  expect(await readOf({ until_ms: march(5) }, [])).toEqual(['whole'])
  expect(await readOf({ since_ms: march(4, 1), until_ms: noon }, [])).toEqual(['a part'])
})
