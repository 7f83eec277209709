import type { Point, Series } from './points.ts'

/** Lines beside that of all others: nobody reads more. */
const lines_max = 5
const others_key = 'others'

interface Named<Row> {
  nameOf: (row: Row) => string
  figureOf: (row: Row) => number
  /** The name of the rest. */
  others: string
  /** What a day without a row has. */
  absent?: 0 | null
}

/** Sums by day and name: the largest names, the rest together. */
export function topLines<Row extends { day: string }>(
  rows: readonly Row[],
  days: readonly string[],
  { nameOf, figureOf, others, absent = 0 }: Named<Row>,
) {
  const totals = new Map<string, number>()
  for (const row of rows) totals.set(nameOf(row), (totals.get(nameOf(row)) ?? 0) + figureOf(row))
  const ranked = [...totals].toSorted((a, b) => b[1] - a[1]).map(([name]) => name)
  const named = ranked.slice(0, ranked.length === lines_max + 1 ? ranked.length : lines_max)
  const keys = new Map(named.map((name, n) => [name, `n${n}`]))
  const series = named.map((name, n): Series => ({ key: `n${n}`, name }))
  if (ranked.length > named.length) series.push({ key: others_key, name: others })
  const points = days.map((day): Point => ({ day, ...Object.fromEntries(series.map(({ key }) => [key, absent])) }))
  const ofDay = new Map(points.map((point) => [point.day, point]))
  for (const row of rows) {
    const point = ofDay.get(row.day)
    const key = keys.get(nameOf(row)) ?? others_key
    if (point) point[key] = Number(point[key] ?? 0) + figureOf(row)
  }
  return { points, series, total: [...totals.values()].reduce((sum, one) => sum + one, 0) }
}
