import { factsHeader } from '@tributary/contracts/attribution/found'
import { expect, test } from 'vitest'
import { packRecords, unpackRecords } from '../src/packed-records.ts'

const [plain, fact] = ['0', '1'].map((facts) => ({ [factsHeader]: facts }))

test.each([
  ['none', []],
  ['one', [{ partition: 11, key: 'app_1/i-1', headers: fact, value: Buffer.from('{}') }]],
  [
    'several, one of them empty, with shared headers and without',
    [
      { partition: 0, key: 'app_1/i-1', headers: plain, value: Buffer.from('first') },
      { partition: 11, key: null, headers: fact, value: Buffer.alloc(0) },
      { partition: 3, key: 'app_1/é', headers: undefined, value: Buffer.from('third é') },
      { partition: 0, key: 'app_1/i-1', headers: plain, value: Buffer.from('last') },
    ],
  ],
])('records come out of a pack as they went in: %s', (_what, records) => {
  const packed = structuredClone(packRecords('events', records))
  const values = Buffer.from(packed.values)
  expect(unpackRecords({ ...packed, values })).toEqual(records.map((record) => ({ topic: 'events', ...record })))
})
