import { expect, test } from 'vitest'
import { compareFaults } from '../fleet/soak/reconciled.ts'

const hour_ms = Date.UTC(2026, 5, 1, 9)
const fault = (store: string, surplus: number, app_id = 'a') => ({ app_id, hour_ms, store, surplus })

test.each([
  ['found as seeded, in one difference', [fault('x', -1), fault('x', -1)], [fault('x', -2)], [], []],
  ['one of two is not found', [fault('x', -1), fault('x', -1)], [fault('x', -1)], ['lacks: 1'], []],
  ['more than was seeded', [fault('x', 1)], [fault('x', 3)], [], ['has too many: 2']],
  [
    'too much does not make up for too little',
    [fault('x', -1), fault('x', 1)],
    [],
    ['lacks: 1', 'has too many: 1'],
    [],
  ],
  ['another app', [fault('x', -1)], [fault('x', -1, 'b')], ['lacks: 1'], ['lacks: 1']],
])('the soak compares found differences with seeded faults: %s', (_, seeded, found, missed, surplus) => {
  const compared = compareFaults(seeded, found)
  const ends = (of: string[]) => of.map((one) => expect.stringContaining(one))
  expect(compared).toEqual({ missed: ends(missed), surplus: ends(surplus) })
})
