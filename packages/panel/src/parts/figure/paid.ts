import { day_ms, toDay, type Window } from '../../api/range.ts'

const sums = [
  ...(['clicks', 'installs', 'reinstalls', 'fraud_flagged', 'purchases', 'payers'] as const),
  ...(['revenue_usd', 'cost_usd'] as const),
] as const

/** A row of the report `performance` by partner and day. */
export type PartnerDay = { day?: string; partner?: string } & Record<(typeof sums)[number], number | null>

/** The partners with cost together: what they brought by what they cost. Null without any cost. */
export function paidOf(rows: readonly PartnerDay[]) {
  const partners = new Set(rows.filter(({ cost_usd }) => cost_usd !== null).map(({ partner }) => partner))
  if (partners.size === 0) return null
  const own = rows.filter(({ partner }) => partners.has(partner))
  const sumOf = (name: string) =>
    own.reduce((sum, row) => sum + (Number((row as Record<string, unknown>)[name]) || 0), 0)
  const all = Object.fromEntries(sums.map((name) => [name, sumOf(name)])) as Record<(typeof sums)[number], number>
  const { installs, revenue_usd, cost_usd } = all
  const byCost = (earned: number) => (cost_usd > 0 ? earned / cost_usd : null)
  const ofDays = Object.keys(own[0] ?? {}).flatMap((name) => {
    const [, day] = /^(d\d+)_retained$/.exec(name) ?? []
    if (day === undefined) return []
    const earned = sumOf(`${day}_revenue_usd`)
    return [
      [`${day}_rate`, installs > 0 ? sumOf(name) / installs : 0],
      [`${day}_revenue_usd`, earned],
      [`${day}_roas`, byCost(earned)],
    ]
  })
  return {
    ...{ partners: partners.size, ...all, ...Object.fromEntries(ofDays) },
    cpi_usd: installs > 0 ? cost_usd / installs : null,
    roas: byCost(revenue_usd),
  }
}

/** The last day with cost; null without any. */
const lastCostDay = (rows: readonly PartnerDay[]): string | null =>
  rows.reduce<string | null>(
    (last, { day, cost_usd }) => (cost_usd !== null && day !== undefined && (last === null || day > last) ? day : last),
    null,
  )

/** The days of a window, until now, that come after its last day with cost. */
export function daysWithoutCost(rows: readonly PartnerDay[], { until_ms }: Window, now_ms: number): number {
  const last = lastCostDay(rows)
  if (last === null) return 0
  const end_ms = Math.min(until_ms, Math.floor(now_ms / day_ms) * day_ms + day_ms)
  return Math.max(0, (end_ms - Date.parse(`${last}T00:00:00Z`)) / day_ms - 1)
}

/** Cost of the period before, of as many of its days as have theirs in this one. Null where either has none. */
export function costBefore(
  before: readonly PartnerDay[],
  rows: readonly PartnerDay[],
  { since_ms, until_ms }: Window,
): number | null {
  const last = lastCostDay(rows)
  if (last === null) return null
  const same = toDay(Date.parse(`${last}T00:00:00Z`) - (until_ms - since_ms))
  const known = before.filter(({ day, cost_usd }) => cost_usd !== null && day !== undefined && day <= same)
  return known.length === 0 ? null : known.reduce((sum, { cost_usd }) => sum + (cost_usd ?? 0), 0)
}
