import { expect, test } from 'vitest'
import { partialPeriods } from '../../src/answers/partial-periods.ts'

const at = (day: string, ms = 0) => Date.parse(day) + ms

test.each([
  ['day', at('2026-03-01'), at('2026-03-02'), undefined],
  ['day', at('2026-03-01', 1), at('2026-03-02'), { first: true, last: false }],
  ['day', at('2026-03-01'), at('2026-03-02', -1), { first: false, last: true }],
  ['week', at('2026-03-02'), at('2026-03-09'), undefined], //          Monday to Monday
  ['week', at('2026-03-01'), at('2026-03-08'), { first: true, last: true }],
  ['month', at('2026-02-01'), at('2026-04-01'), undefined],
  ['month', at('2026-02-01'), at('2026-03-31'), { first: false, last: true }],
  ['month', -8.64e15, 9e15, undefined], //                             whatever lies beyond all events
  ['day', -5, -1, undefined],
] as const)('by %s a window says which of its ends cuts a period: %i to %i', (group, since_ms, until_ms, partial) => {
  expect(partialPeriods({ since_ms, until_ms }, group)).toEqual(partial)
})
