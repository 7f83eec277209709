import type { ReportRow } from '@tributary/contracts/reports'
import type { Point, Series } from '../../parts/series.tsx'

const names_max = 5

export interface EventTotal {
  event_name: string
  events: number
  revenue_usd: number
}

/** Totals of each name, the most frequent first. Unique installs of days cannot be added. */
export function totalsOf(rows: readonly ReportRow<'events'>[]): EventTotal[] {
  const totals = new Map<string, EventTotal>()
  for (const { event_name, events, revenue_usd } of rows) {
    const total = totals.get(event_name) ?? { event_name, events: 0, revenue_usd: 0 }
    totals.set(event_name, { event_name, events: total.events + events, revenue_usd: total.revenue_usd + revenue_usd })
  }
  return [...totals.values()].toSorted((a, b) => b.events - a.events)
}

/** Events by day and name: the most frequent names, the rest together. */
export function eventsByName(rows: readonly ReportRow<'events'>[], days: readonly string[], others: string) {
  const names = totalsOf(rows).map(({ event_name }) => event_name)
  const named = names.slice(0, names.length === names_max + 1 ? names.length : names_max)
  const keyOf = (name: string) => (named.includes(name) ? `e${named.indexOf(name)}` : 'others')
  const series: Series[] = named.map((name) => ({ key: keyOf(name), name }))
  if (names.length > named.length) series.push({ key: 'others', name: others })
  const points = days.map((day): Point => ({ day, ...Object.fromEntries(series.map(({ key }) => [key, 0])) }))
  const ofDay = new Map(points.map((point) => [point.day, point]))
  for (const { day, event_name, events } of rows) {
    const point = ofDay.get(day)
    const key = keyOf(event_name)
    if (point) point[key] = Number(point[key] ?? 0) + events
  }
  return { points, series }
}
