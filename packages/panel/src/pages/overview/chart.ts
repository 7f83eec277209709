import type { ReportRow } from '@tributary/contracts/reports'

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
