import { expect, it } from 'vitest'
import { presets, windowOf } from '../src/api/range.ts'

const day = (text: string) => Date.parse(`${text}T00:00:00Z`)
const written = (words: object, now: string) => {
  const { since_ms, until_ms } = windowOf(words, Date.parse(now))
  return [since_ms, until_ms].map((ms) => new Date(ms).toISOString().replace('T00:00:00.000Z', ''))
}

it.each([
  ['1d', '2026-03-01', '2026-03-02'],
  ['yesterday', '2026-02-28', '2026-03-01'],
  ['7d', '2026-02-23', '2026-03-02'],
  ['14d', '2026-02-16', '2026-03-02'],
  ['30d', '2026-01-31', '2026-03-02'],
  ['90d', '2025-12-02', '2026-03-02'],
  ['month', '2026-03-01', '2026-03-02'],
  ['last-month', '2026-02-01', '2026-03-01'],
] as const)('begins and ends %s at midnight, UTC', (range, since, until) => {
  for (const now of ['2026-03-01T00:00:00.000Z', '2026-03-01T23:59:59.999Z'])
    expect(written({ range }, now)).toEqual([since, until])
})

it('knows the last month in January, and lists every preset above', () => {
  expect(written({ range: 'last-month' }, '2027-01-31T12:00:00Z')).toEqual(['2026-12-01', '2027-01-01'])
  expect(presets).toHaveLength(8)
})

it('takes days of the address as they are, and what is no range as 7 days', () => {
  expect(windowOf({ from: '2026-02-28', to: '2026-02-28' })).toEqual({
    since_ms: day('2026-02-28'),
    until_ms: day('2026-03-01'),
  })
  for (const words of [{ range: 'evil' }, { from: '2026-02-02', to: '2026-02-01' }, { from: 'x', to: 'y' }])
    expect(written(words, '2026-03-01T12:00:00Z')).toEqual(['2026-02-23', '2026-03-02'])
})
