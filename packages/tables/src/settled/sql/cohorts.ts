import { day_ms } from '@tributary/contracts/limits'
import type { StampSource } from '@tributary/contracts/report-tables'
import { addDays } from '../days.ts'

/** The days that cohorts are settled for. Day 0 is all installs, and any other is worked out live. */
export const settledNumbers = [1, 3, 7, 14, 30, 60, 90] as const

/** A day of install with a number of days. */
export interface CohortPair {
  day: string
  n: number
}

/** Days of install with numbers of days, pair by pair, as SQL: placeholders in reports, and literals in the settler. */
export interface CohortPairs {
  /** A string. */
  app_id: string
  /** Two lists of the same length: Array(Date) and Array(UInt16). */
  days: string
  numbers: string
  /** A set of days, right of `IN`: `activityDays` of the pairs. */
  activity_days: string
  /** A condition on `installed_at_ms`: the edges of a window. Absent: whole days. */
  moments?: string
}

/** New installs, once each: `date, installed_ms, install_key` and the columns `by` of their newest verdict. */
export const cohortSql = (
  { app_id, days, moments = '1' }: Pick<CohortPairs, 'app_id' | 'days' | 'moments'>,
  by: readonly string[] = [],
): string => `
      SELECT day AS date, installed_at_ms AS installed_ms, install_key${listOf(by)}
      FROM ${by.length === 0 ? 'installs_by_day_v1' : 'installs_by_dimensions_v1'} FINAL
      WHERE app_id = ${app_id} AND day IN ${days} AND ${moments} AND reinstall = 0
      GROUP BY date, installed_ms, install_key${listOf(by)}
      HAVING sum(sign) > 0`

const listOf = (by: readonly string[]) => by.map((one) => `, ${one}`).join('')

/** The number of the 24 hours after an install that a time is in, from 0 on; negative before the install. */
const windowOf = (ts_ms: string) => `toInt32(floor((${ts_ms} - installed_ms) / ${day_ms}))`

/**
 * How many installs of a day had an event in the 24 hours from n x 24 hours after the install on (docs/rules.md#cohorts-report):
 * `date, n, retained`, and the columns `by` of the newest verdict. Pairs without any have no row.
 *
 * A UTC day meets two of these windows of an install at most. The first event of the day is in the earlier one of those with an
 * event, and the last event is in the later one (docs/decisions/reports.md#cohorts-read-the-first-and-last-event-of-a-day). That holds for
 * each row by itself: parts need no merge.
 */
export const retainedSql = (at: CohortPairs, by: readonly string[] = []): string => `
  SELECT date, toUInt16(window) AS n, uniqExact(install_key) AS retained${listOf(by)}
  FROM (
    SELECT date, install_key${listOf(by)}, arrayJoin(if(first = last, [first], [first, last])) AS window
    FROM (
      SELECT date, install_key${listOf(by)}, ${windowOf('min_ts_ms')} AS first, ${windowOf('max_ts_ms')} AS last
      FROM (
        SELECT install_key, min_ts_ms, max_ts_ms FROM activity_by_day_v1
        WHERE app_id = ${at.app_id} AND day IN ${at.activity_days}
      ) AS activity
      INNER JOIN (${cohortSql({ ...at, days: `(SELECT arrayJoin(${at.days}))` }, by)}
      ) AS cohort USING (install_key)
    )
    WHERE first >= 0 OR last >= 0
  )
  WHERE (date, window) IN (SELECT (pair.1, toInt32(pair.2)) FROM (SELECT arrayJoin(arrayZip(${at.days}, ${at.numbers})) AS pair))
  GROUP BY date, window${listOf(by)}`

/** Each kind of settled cohort: its table, the source of the stamps of its installs, and what its rows are of. */
export const cohortFigures = {
  cohorts: { table: 'settled_cohorts_v1', source: 'installs', by: [] },
  campaign_cohorts: {
    table: 'settled_campaign_cohorts_v1',
    source: 'dimensions',
    by: ['partner', 'campaign', 'country'],
  },
} as const satisfies Record<string, { table: string; source: StampSource; by: readonly string[] }>
export type CohortName = keyof typeof cohortFigures

const ofPairs = ({ app_id, days, numbers }: Omit<CohortPairs, 'activity_days'>) => `
  WHERE app_id = ${app_id} AND day IN (SELECT arrayJoin(${days}))
    AND (day, n) IN (SELECT (pair.1, pair.2) FROM (SELECT arrayJoin(arrayZip(${days}, ${numbers})) AS pair))`

/** The rows of `retainedSql` by `cohortFigures.campaign_cohorts.by`, of settled pairs. */
export const settledCampaignsRetainedSql = (at: Omit<CohortPairs, 'activity_days'>): string => `
  SELECT day AS date, n, partner, campaign, country, retained
  FROM (SELECT * FROM settled_campaign_cohorts_v1 FINAL${ofPairs(at)})
  ARRAY JOIN \`countries.partner\` AS partner, \`countries.campaign\` AS campaign, \`countries.country\` AS country, \`countries.retained\` AS retained`

/** The same rows, of settled pairs. The pairs must be settled (`findSettledCohorts`). */
export const settledRetainedSql = (at: Omit<CohortPairs, 'activity_days'>): string => `
  SELECT day AS date, n, retained
  FROM settled_cohorts_v1 FINAL${ofPairs(at)}`

/** The UTC days that the windows of the pairs meet, ascending. */
export function activityDays(pairs: readonly CohortPair[]): string[] {
  const days = pairs.flatMap(({ day, n }) => [addDays(day, n), addDays(day, n + 1)])
  return [...new Set(days)].toSorted()
}
