import { useQuery } from '@tanstack/react-query'
import type { ReportRow } from '@tributary/contracts/reports'
import type { Period } from '../../api/maturity.ts'
import { reportQuery } from '../../api/queries.ts'
import { windowOf } from '../../api/range.ts'
import { useApp } from '../../shell/session.ts'
import { useWords } from '../../shell/words.ts'

/** The days since the install that the map has columns of. */
export const cohortDays = [0, 1, 2, 3, 5, 7, 14, 21, 30, 60]
export const groups = ['day', 'week', 'month', 'partner'] as const
export type Group = (typeof groups)[number]

/** A row of the map: installs of a period, or of a partner. `dN` are those that were back. */
export type Cohort = { name: string; day: string; installs: number } & Record<`d${number}`, number>

/** Cohorts by the period of the install, of one partner where the address names it, or by partner. */
export function useCohorts() {
  const { app_id } = useApp()
  const words = useWords()
  const { since_ms, until_ms } = windowOf(words)
  const group: Group = groups.find((one) => one === words.group) ?? 'day'
  const ofPartners = group === 'partner'
  const days = cohortDays.join(',')
  const { partner } = words
  const query = { since_ms, until_ms, group, days, partner }
  const byPartner = { since_ms, until_ms, by: 'partner', group: 'none', days, sort: '-installs' }
  const cohorts = useQuery({ ...reportQuery('cohorts', app_id, query), enabled: !ofPartners })
  const partners = useQuery({ ...reportQuery('performance', app_id, byPartner), enabled: ofPartners })
  const shared = { app_id, group, partner, period: (ofPartners ? 'none' : group) as Period }
  return ofPartners
    ? ({ ...shared, report: 'performance', query: byPartner, asked: partners } as const)
    : ({ ...shared, report: 'cohorts', query, asked: cohorts } as const)
}

/** Rows of either report as rows of the map. */
export const cohortOf = (row: Partial<ReportRow<'cohorts'> & ReportRow<'performance'>>, day: string): Cohort => {
  const { installs = 0, partner = '', ...fields } = row as Record<string, never>
  const back = cohortDays.map((n) => [`d${n}`, Number(fields[`d${n}`] ?? fields[`d${n}_retained`] ?? 0)])
  return { name: row.day ?? partner, day: row.day ?? day, installs, ...Object.fromEntries(back) }
}
