import { hour_ms } from '@tributary/contracts/limits'
import { expect, test } from 'vitest'
import { dueHours } from '../src/hours/due-hours.ts'

const begin_ms = Date.UTC(2026, 5, 1)
const object = (key: string, received_at_ms: number | null) => ({ key, received_at_ms, read: async () => null })
const timed = [object('a', begin_ms), object('b', begin_ms + 1), object('c', begin_ms + 2 * hour_ms)]
const bounds = { first_ms: begin_ms, until_ms: begin_ms + 4 * hour_ms }
const hoursOf = (at_ms: Iterable<number>) => [...at_ms].map((one) => (one - begin_ms) / hour_ms)
const all = [0, 1, 2, 3, 4].map((hour) => begin_ms + hour * hour_ms)

test('hours with another number of objects than when they were compared are due, whichever are chosen first', () => {
  const known = new Map([
    [begin_ms, { objects: 2, events: 5 }],
    [begin_ms + hour_ms, { objects: 0, events: 5 }],
    [begin_ms + 2 * hour_ms, { objects: 2, events: 5 }],
  ])
  const due = dueHours({ ...bounds, known, events: new Map([['2026-06-01', 9]]) })
  due.count(timed)
  for (let again = 0; again < 2; again += 1) expect(due.choose(timed).map(({ key }) => key)).toEqual(['c'])
  expect(hoursOf(all.filter(due.isDue))).toEqual([2, 3])
  expect(due.compared(['2026-06-01'])).toEqual(
    new Map([
      [begin_ms + 2 * hour_ms, { objects: 1, events: 9 }],
      [begin_ms + 3 * hour_ms, { objects: 0, events: 9 }],
    ]),
  )
})

test('all hours of a day are due once tables have fewer events of it, and none when they have more', () => {
  const known = new Map(all.map((at_ms) => [at_ms, { objects: 0, events: 5 }]))
  const dueWith = (events: number) => {
    const due = dueHours({ ...bounds, known, events: new Map([['2026-06-01', events]]) })
    return [hoursOf(all.filter(due.isDue)), due.isWhole('2026-06-01')]
  }
  expect(dueWith(4)).toEqual([[0, 1, 2, 3], true])
  expect(dueWith(6)).toEqual([[], false])
})
