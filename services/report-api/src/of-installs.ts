import type { ReportFilters } from '@tributary/contracts/report-parameters'
import { filterSql } from './report.ts'

/** Filters that no settled figure knows: reports of them read raw rows (docs/rules.md#report-filters). */
const of_verdicts = ['campaign', 'country', 'link_id'] as const

/** The filters that rows have a field of, and those that only verdicts know; null without any of these. */
export function splitFilters(filters: ReportFilters): { of_rows: ReportFilters; ofVerdicts: ReportFilters | null } {
  const isOfVerdicts = ([name]: [string, unknown]) => (of_verdicts as readonly string[]).includes(name)
  const all = Object.entries(filters)
  const ofVerdicts: ReportFilters = Object.fromEntries(all.filter(isOfVerdicts))
  const of_rows: ReportFilters = Object.fromEntries(all.filter((one) => !isOfVerdicts(one)))
  return { of_rows, ofVerdicts: Object.keys(ofVerdicts).length > 0 ? ofVerdicts : null }
}

/** How a table names an install by its key. */
export const keyIn = { installs: 'install_key', money: 'sipHash64(install_uuid)' } as const

/**
 * SQL condition for rows of installs of the window whose newest verdict passes; undefined without filters. Rows of an older verdict
 * cancel each other.
 */
export const ofWindowSql = (filters: ReportFilters | null, of: keyof typeof keyIn): string | undefined =>
  filters === null ? undefined : `${keyIn[of]} IN (${liveSql(inWindow, filterSql(filters).passes)})`

/** The same for money of any installs, which has no verdict at all where the install has none: its labels are empty then. */
export function ofPayersSql(filters: ReportFilters | null, paying: string): string | undefined {
  if (filters === null) return undefined
  const { passes } = filterSql(filters)
  const isEmptyTaken = Object.values(filters).every((values) => values.includes(''))
  const of_paying = `install_key IN (${paying})`
  return isEmptyTaken
    ? `${keyIn.money} NOT IN (${liveSql(of_paying, `NOT (${passes})`)})`
    : `${keyIn.money} IN (${liveSql(of_paying, passes)})`
}

const inWindow = 'day >= {first_day:Date} AND day <= {last_day:Date}'

const liveSql = (where: string, passes: string): string => `
      SELECT install_key FROM installs_by_dimensions_v1 FINAL
      WHERE app_id = {app_id:String} AND ${where} AND ${passes}
      GROUP BY install_key HAVING sum(sign) > 0`
