import type { ReportRow } from '@tributary/contracts/reports'

type Row = ReportRow<'costs'>

export interface Stored {
  partner: string
  currency: string
  days: Set<string>
  first: string
  last: string
  cost: number
  cost_usd: number
  uploaded_at_ms: number
}

/** What is stored of each partner and currency, the most expensive first. */
export function storedOf(rows: readonly Row[]): Stored[] {
  const all = new Map<string, Stored>()
  for (const row of rows) {
    const { partner, currency, day } = row
    const key = `${partner} ${currency}`
    const stored = all.get(key) ?? { partner, currency, days: new Set(), first: day, last: day, ...nothing }
    stored.days.add(day)
    stored.cost += row.cost
    stored.cost_usd += row.cost_usd
    stored.uploaded_at_ms = Math.max(stored.uploaded_at_ms, row.uploaded_at_ms)
    if (day < stored.first) stored.first = day
    if (day > stored.last) stored.last = day
    all.set(key, stored)
  }
  return [...all.values()].toSorted((a, b) => b.cost_usd - a.cost_usd)
}

const nothing = { cost: 0, cost_usd: 0, uploaded_at_ms: 0 }

/** All of them, in the one currency that they can be added in. */
export const totalOf = (stored: readonly Stored[]): Stored => ({
  ...{ partner: '', currency: '', first: '', last: '', cost: 0 },
  days: new Set(stored.flatMap(({ days }) => [...days])),
  cost_usd: stored.reduce((sum, one) => sum + one.cost_usd, 0),
  uploaded_at_ms: Math.max(0, ...stored.map((one) => one.uploaded_at_ms)),
})
