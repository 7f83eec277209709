import type { ReportRow } from '@tributary/contracts/reports'
import { maturityOf, type Period } from '../../api/maturity.ts'
import type { Point, Series } from '../../parts/figure/points.ts'
import { dayOfFigure } from './state.ts'

interface Course {
  rows: readonly ReportRow<'performance'>[]
  /** The value of a row that its line is of. */
  lineOf: (row: ReportRow<'performance'>) => string
  values: readonly string[]
  nameOf: (value: string) => string
  figure: string
  /** What a period without a row has: 0 of a sum, null of a quotient. */
  absent: 0 | null
  /** The days of the window; null: those of the rows. */
  days: readonly string[] | null
  group: Period
  now_ms: number
  until_ms: number
}

/** A figure over time, one line a value. What is not over yet is left out: it would look like a fall. */
export function linesOf({ rows, values, figure, absent, days, group, ...course }: Course) {
  const series = values.map((value, n): Series => ({ key: `v${n}`, name: course.nameOf(value) }))
  const n = dayOfFigure(figure)
  const begins = days ?? [...new Set(rows.map(({ day }) => day ?? ''))].toSorted()
  const found = new Map(rows.map((row) => [`${row.day} ${course.lineOf(row)}`, row as Record<string, unknown>]))
  const points = begins.map((day): Point => {
    const isOver = n === null || maturityOf(day, group, n, course.now_ms, course.until_ms) === 'mature'
    const own = values.map((value, index) => {
      const row = found.get(`${day} ${value}`)
      const known = row === undefined ? absent : row[figure]
      return [`v${index}`, isOver && typeof known === 'number' ? known : null]
    })
    return { day, ...Object.fromEntries(own) }
  })
  return { series, points, isCut: n !== null }
}
