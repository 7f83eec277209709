import { day_ms } from '../../api/range.ts'
import type { Point, Series } from '../../parts/figure/points.ts'

/** Nobody reads more lines. */
const lines_max = 6

type Row = { day: string; partner: string; installs: number }
const earned = (row: Row, n: number): number => (row as unknown as Record<string, number>)[`d${n}_revenue_usd`] ?? 0

/**
 * Revenue per install by day since the install and partner. A point is of the installs for which that day is over: young ones
 * would pull it down.
 */
export function curvesOf(rows: readonly Row[], days: readonly number[], now_ms: number, partners_max = lines_max) {
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

export interface Return {
  partner: string
  installs: number
  /** What an install of the partner did cost; null without cost. */
  cpi_usd: number | null
  /** Revenue per install by day; null while that day is not over for any install. */
  d7: number | null
  d30: number | null
  /** The first of the days by which an install had earned its cost; null: none of those that are over. */
  earned_by: number | null
  /** The last day that is over for some installs; null without any. */
  known_until: number | null
}

/** Whether, and by when, each partner earned its own cost, the most installs first. */
export function returnsOf(
  rows: readonly Row[],
  costs: readonly { partner: string; cost_usd: number }[],
  days: readonly number[],
  now_ms: number,
): Return[] {
  const { series, points } = curvesOf(rows, days, now_ms, Number.POSITIVE_INFINITY)
  return series.map(({ key, name: partner }) => {
    const own = rows.filter((row) => row.partner === partner)
    const cpi_usd = costPerInstall(
      own,
      costs.filter((cost) => cost.partner === partner),
    )
    const known = points.filter((point) => point[key] !== null)
    const valueBy = (day: string) => known.find((point) => point.day === day)?.[key] ?? null
    const earned = cpi_usd === null ? undefined : known.find((point) => Number(point[key]) >= cpi_usd)
    return {
      ...{ partner, cpi_usd, installs: own.reduce((sum, row) => sum + row.installs, 0) },
      ...{ d7: valueBy('7') as number | null, d30: valueBy('30') as number | null },
      earned_by: earned === undefined ? null : Number(earned.day),
      known_until: known.length === 0 ? null : Number(known.at(-1)?.day),
    }
  })
}
