import { day_ms } from '../../api/range.ts'
import type { Point, Series } from '../../parts/series.tsx'

const partners_max = 6

type Row = { day: string; partner: string; installs: number }
const earned = (row: Row, n: number): number => (row as unknown as Record<string, number>)[`d${n}_revenue_usd`] ?? 0

/**
 * Revenue per install by day since the install and partner. A point is of the installs for which that day is over: young ones
 * would pull it down.
 */
export function curvesOf(rows: readonly Row[], days: readonly number[], now_ms: number) {
  const installs = new Map<string, number>()
  for (const row of rows) installs.set(row.partner, (installs.get(row.partner) ?? 0) + row.installs)
  const partners = [...installs].toSorted((a, b) => b[1] - a[1]).slice(0, partners_max)
  const series = partners.map(([name], n): Series => ({ key: `p${n}`, name }))
  const isOver = ({ day }: Row, n: number) => Date.parse(`${day}T00:00:00Z`) + (n + 2) * day_ms <= now_ms
  const points = days.map((n): Point => {
    const values = partners.map(([partner], index) => {
      const mature = rows.filter((row) => row.partner === partner && isOver(row, n))
      const of = mature.reduce((sum, row) => sum + row.installs, 0)
      return [`p${index}`, of > 0 ? mature.reduce((sum, row) => sum + earned(row, n), 0) / of : null]
    })
    return { day: String(n), ...Object.fromEntries(values) }
  })
  return { series, points: points.filter((point) => series.some(({ key }) => point[key] !== null)) }
}

/** What an install of the partners with cost did cost; null without cost. */
export function costPerInstall(
  rows: readonly Row[],
  costs: readonly { partner: string; cost_usd: number }[],
): number | null {
  const partners = new Set(costs.map(({ partner }) => partner))
  const installs = rows.filter(({ partner }) => partners.has(partner)).reduce((sum, row) => sum + row.installs, 0)
  const cost = costs.reduce((sum, { cost_usd }) => sum + cost_usd, 0)
  return installs > 0 && cost > 0 ? cost / installs : null
}
