import { utcDay } from '@tributary/domain/utc-day'
import type { SimInstall } from './history.ts'

/** A row of the attribution report. */
export interface AttributionRow {
  day: string
  partner: string
  attribution_type: string
  installs: number
  organic: number
  reinstalls: number
  fraud_flagged: number
}

/** The attribution report of an app as the simulator knows it: sums of what it did. */
export function expectedReport(installs: readonly SimInstall[], app_id: string): AttributionRow[] {
  const rows = new Map<string, AttributionRow>()
  for (const { app, at_ms, truth } of installs) {
    if (app.app_id !== app_id) continue
    const { partner, attribution_type, reinstall, flags } = truth
    const named = { day: utcDay(at_ms), partner, attribution_type }
    const key = JSON.stringify(named)
    const row = rows.get(key) ?? { ...named, installs: 0, organic: 0, reinstalls: 0, fraud_flagged: 0 }
    rows.set(key, row)
    if (reinstall) row.reinstalls += 1
    else {
      row.installs += 1
      if (partner === 'organic') row.organic += 1
      if (flags.length > 0) row.fraud_flagged += 1
    }
  }
  return [...rows.values()].sort((a, b) => keyOf(a).localeCompare(keyOf(b)))
}

const keyOf = ({ day, partner, attribution_type }: AttributionRow): string => `${day} ${partner} ${attribution_type}`
