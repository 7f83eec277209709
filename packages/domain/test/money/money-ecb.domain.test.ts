import { readEcbRates } from '@tributary/domain/money/money-ecb'
import { expect, test } from 'vitest'

test("the ECB's history: newest first, a comma at the end of each line, N/A where there is no rate", () => {
  const file = [
    'Date,USD,JPY,BGN,CYP,',
    '2026-01-30,1.1919,183.59,N/A,N/A,',
    '2026-01-29,1.196,183.13,N/A,N/A,',
    '1999-01-04,1.1789,133.73,N/A,0.58231,',
    '',
  ].join('\n')
  expect(readEcbRates(file)).toEqual([
    { day: '2026-01-30', currency: 'USD', units: '1.1919' },
    { day: '2026-01-30', currency: 'JPY', units: '183.59' },
    { day: '2026-01-29', currency: 'USD', units: '1.196' },
    { day: '2026-01-29', currency: 'JPY', units: '183.13' },
    { day: '1999-01-04', currency: 'USD', units: '1.1789' },
    { day: '1999-01-04', currency: 'JPY', units: '133.73' },
    { day: '1999-01-04', currency: 'CYP', units: '0.58231' },
  ])
})

test("the ECB's last day: spaces, and the month as a word", () => {
  expect(readEcbRates('Date, USD, JPY, \r\n5 February 2026, 1.1798, 185.3, \r\n')).toEqual([
    { day: '2026-02-05', currency: 'USD', units: '1.1798' },
    { day: '2026-02-05', currency: 'JPY', units: '185.3' },
  ])
})

test('days may come in any order, lines may end early, cells may be empty', () => {
  expect(readEcbRates('\ufeffDate,USD,GBP\n2026-01-01,1,\n2026-01-02,2,3\n2025-01-01\n')).toHaveLength(3)
})

test.each([
  ['', 'Line 1'],
  ['USD,JPY\n2026-01-01,1,2', 'Line 1'],
  ['<html>', 'Line 1'],
  ['Date,EUR\n2026-01-01,1', 'beside EUR'],
  ['Date,usd\n2026-01-01,1', 'beside EUR'],
  ['Date,USD,USD\n2026-01-01,1,1', 'twice'],
  ['Date,USD', 'no rate'],
  ['Date,USD\n2026-01-01,N/A', 'no rate'],
  ['Date,USD\n2026-02-30,1', 'Line 2'],
  ['Date,USD\n30 Februember 2026,1', 'Line 2'],
  ['Date,USD\n31 February 2026,1', 'Line 2'],
  ['Date,USD\n\n2026-01-01,1', 'Line 2'],
  ['Date,USD\n2026-01-01,1\n2026-01-01,2', 'Line 3'],
  ['Date,USD\n2026-01-01,1,2', 'Line 2'],
  ...['0', '0.000', '-1', '1e3', '1,5', 'NaN', '1.', '.5', '١', '1'.repeat(13), '1 2'].map((rate) => [
    `Date,USD\n2026-01-01,${rate}`,
    'Line 2',
  ]),
  [`Date,USD\n${'x\n'.repeat(60_000)}`, 'lines'],
  [`Date,${'USD,'.repeat(500)}\n`, 'columns'],
])('refuses %j', (file, word) => {
  expect(() => readEcbRates(file!)).toThrow(
    expect.objectContaining({ code: 'bad_csv', message: expect.stringContaining(word!) }),
  )
})
