import { organic } from '@tributary/contracts/attribution/verdict'
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
export const expectedReport = (installs: readonly SimInstall[], app_id: string): AttributionRow[] =>
  sumRows(
    installs
      .filter(({ app }) => app.app_id === app_id)
      .map(({ at_ms, truth }) => ({ ...truth, day: utcDay(at_ms), flagged: truth.flags.length > 0 })),
  )

export interface CountedInstall {
  day: string
  partner: string
  attribution_type: string
  reinstall: boolean
  flagged: boolean
}

/** Rows of the attribution report over these installs, in its order. */
export function sumRows(installs: readonly CountedInstall[]): AttributionRow[] {
  const rows = new Map<string, AttributionRow>()
  for (const { day, partner, attribution_type, reinstall, flagged } of installs) {
    const key = `${day} ${partner} ${attribution_type}`
    const named = { day, partner, attribution_type }
    const row = rows.get(key) ?? { ...named, installs: 0, organic: 0, reinstalls: 0, fraud_flagged: 0 }
    rows.set(key, row)
    if (reinstall) row.reinstalls += 1
    else {
      row.installs += 1
      if (partner === organic) row.organic += 1
      if (flagged) row.fraud_flagged += 1
    }
  }
  return [...rows].toSorted(([a], [b]) => Number(a > b) - Number(a < b)).map(([, row]) => row)
}
