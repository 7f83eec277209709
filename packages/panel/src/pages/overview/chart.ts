import type { ReportRow } from '@tributary/contracts/reports'
import type { Point, Series } from '../../parts/series.tsx'

/** Lines beside that of all others: nobody reads more. */
const partners_max = 5
const others_key = 'others'

/** Installs by day and partner: the largest partners by name, the rest together. */
export function installsByPartner(rows: readonly ReportRow<'attribution'>[], days: readonly string[], others: string) {
  const totals = new Map<string, number>()
  for (const { partner, installs } of rows) totals.set(partner, (totals.get(partner) ?? 0) + installs)
  const ranked = [...totals].toSorted((a, b) => b[1] - a[1]).map(([partner]) => partner)
  const named = ranked.slice(0, ranked.length === partners_max + 1 ? ranked.length : partners_max)
  const keyOf = (partner: string) => (named.includes(partner) ? `p${named.indexOf(partner)}` : others_key)
  const series: Series[] = named.map((partner) => ({ key: keyOf(partner), name: partner }))
  if (ranked.length > named.length) series.push({ key: others_key, name: others })
  const points = days.map((day): Point => ({ day, ...Object.fromEntries(series.map(({ key }) => [key, 0])) }))
  const ofDay = new Map(points.map((point) => [point.day, point]))
  for (const { day, partner, installs } of rows) {
    const point = ofDay.get(day)
    const key = keyOf(partner)
    if (point) point[key] = Number(point[key] ?? 0) + installs
  }
  return { points, series, total: [...totals.values()].reduce((sum, one) => sum + one, 0) }
}

/** A figure of each day: the sum of a field over the rows of the day; null on days without rows where `absent` is null. */
export function byDay<Row extends { day: string }>(
  rows: readonly Row[],
  days: readonly string[],
  figureOf: (row: Row) => number | null,
  absent: number | null = 0,
): (number | null)[] {
  const sums = new Map<string, number | null>()
  for (const row of rows) {
    const value = figureOf(row)
    sums.set(row.day, value === null ? (sums.get(row.day) ?? null) : (sums.get(row.day) ?? 0) + value)
  }
  return days.map((day) => sums.get(day) ?? absent)
}

/** Cost, and the revenue of the partners that have cost by their cost; null without cost. */
export function returnOf(costs: readonly ReportRow<'costs'>[], revenue: readonly ReportRow<'revenue'>[]) {
  if (costs.length === 0) return { cost_usd: null, roas: null }
  const partners = new Set(costs.map(({ partner }) => partner))
  const cost_usd = sum(costs.map((row) => row.cost_usd))
  const earned = sum(revenue.filter(({ partner }) => partners.has(partner)).map((row) => row.revenue_usd))
  return { cost_usd, roas: cost_usd > 0 ? earned / cost_usd : null }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
