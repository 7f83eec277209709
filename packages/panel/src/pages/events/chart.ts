import type { ReportRow } from '@tributary/contracts/reports'

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
