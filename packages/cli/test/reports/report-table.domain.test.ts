import { stripVTControlCharacters } from 'node:util'
import { day_ms } from '@tributary/contracts/limits'
import { columnsOf } from '@tributary/contracts/reports'
import { describe, expect, it } from 'vitest'
import { hasColours } from '../../src/reports/heat.ts'
import { reportTable } from '../../src/reports/report-table.ts'

const june = (day: number) => Date.UTC(2026, 5, day)
const page = { since_ms: june(1), until_ms: june(20), limit: 100, offset: 0, rows: 2, more: false, elapsed_ms: 1 }
const plain = { group: 'day', hasColours: false } as const

describe('a report on a terminal', () => {
  it('aligns money, counts and shares, and shows nothing that a terminal would obey', () => {
    const rows = [
      { day: '2026-06-01', event_name: 'open', events: 1234567, unique_installs: 12, revenue_usd: 0 },
      { day: '2026-06-02', event_name: 'a\u001B[31m', events: 3, unique_installs: 2, revenue_usd: -1234.5 },
    ]
    expect(`\n${reportTable({ ...plain, columns: columnsOf('events'), rows, meta: page })}`).toBe(`
day         event_name     events  unique_installs  revenue_usd
---------------------------------------------------------------
2026-06-01  open        1,234,567               12         0.00
2026-06-02  a?[31m              3                2    -1,234.50`)
  })

  it('shows cohorts by their shares, with a plus at those that may still grow', () => {
    const cohort = (day: string, d1: number, d7: number) => ({
      ...{ day, installs: 1000, d1: d1 * 1000, d7: d7 * 1000, d30: 0, d1_rate: d1, d7_rate: d7, d30_rate: 0 },
    })
    const rows = [cohort('2026-06-01', 0.4, 0.1), cohort('2026-06-08', 0.5, 0.02)]
    const columns = columnsOf('cohorts')
    // Now is 12 June: d30 is over for installs before 12 May, d7 before 4 June, d1 before 10 June.
    const meta = { ...page, mature_until_ms: june(12) - 31 * day_ms }
    const table = reportTable({ ...plain, columns, rows, meta })
    expect(`\n${table}`).toBe(`
day         installs      d1      d7     d30
---------------------------------------------
2026-06-01     1,000  40.0 %  10.0 %   0.0 %+
2026-06-08     1,000  50.0 %   2.0 %+  0.0 %+
+ may still grow: its days are not over for every install`)
    const painted = reportTable({ columns, rows, meta, group: 'day', hasColours: true })
    expect(stripVTControlCharacters(painted)).toBe(table)
    const shades = [...painted.matchAll(/\[48;5;(\d+)m[^ ]*? *([\d.]+) %/g)].map(([, shade, share]) => [shade, share])
    expect(shades).toHaveLength(4) // nothing at 0 %
    expect(new Set(shades.map(([shade]) => shade)).size).toBe(4)
    // A week is over with its last day, a month with its own.
    const weeks = reportTable({ ...plain, group: 'week', columns, rows, meta })
    expect(weeks).toContain('10.0 %+')
    expect(reportTable({ ...plain, group: 'month', columns, rows, meta })).toContain('40.0 %+')
    expect(reportTable({ ...plain, columns, rows, meta: page })).not.toContain('+')
  })

  it('marks periods that the window cuts, and says what the marks mean', () => {
    const rows = ['2026-06-01', '2026-06-08', '2026-06-15'].map((day) => ({ day, installs: 1 }))
    const meta = { ...page, since_ms: june(2), until_ms: june(22) - 1, partial: { first: true, last: true } }
    expect(`\n${reportTable({ ...plain, group: 'week', columns: ['day', 'installs'], rows, meta })}`).toBe(`
day          installs
---------------------
2026-06-01~         1
2026-06-08          1
2026-06-15~         1
~ a part of its period: the window begins or ends inside`)
  })

  it('shows a field of several values as JSON', () => {
    const rows = [{ day: '2026-06-01', fine: { 12: 20 } }]
    expect(reportTable({ ...plain, columns: ['day', 'fine'], rows, meta: page })).toMatch(/ {"12":20}$/)
  })

  it('gives USD per install more digits than sums', () => {
    const columns = columnsOf('ltv', { days: [0] })
    const rows = [
      { day: '2026-06-01', partner: 'acme', installs: 4, revenue_usd: 5, d0_revenue_usd: 1.5, d0_arpi_usd: 0.375 },
    ]
    expect(reportTable({ ...plain, columns, rows, meta: page })).toMatch(/ 5\.00 +1\.50 +0\.3750$/)
  })

  it('shows the counts of conversion values, and a dash where no schema decodes', () => {
    const rows = [{ day: '2026-06-01', fine: { 12: 1000, 31: 6 }, schema_version: null, schema_ambiguous: true }]
    const columns = ['day', 'fine', 'schema_version', 'schema_ambiguous']
    expect(reportTable({ ...plain, columns, rows, meta: page })).toMatch(/ {"12":1000,"31":6} +- +true$/)
  })

  it('is long without an error', () => {
    const rows = Array.from({ length: 130_000 }, () => ({ installs: 1 }))
    expect(reportTable({ ...plain, columns: ['installs'], rows, meta: page }).split('\n')).toHaveLength(130_002)
  })
})

it('has colours on a terminal of 256, and nowhere else', () => {
  const stream = (isTTY: boolean, colours: number) =>
    ({ isTTY, hasColors: (count: number) => count <= colours }) as unknown as NodeJS.WriteStream
  expect([hasColours(stream(true, 256)), hasColours(stream(true, 16)), hasColours(stream(false, 256))]).toEqual([
    ...[true, false, false],
  ])
})
