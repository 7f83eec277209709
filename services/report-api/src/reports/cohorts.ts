import { day_ms } from '@tributary/contracts/limits'
import type { ReportRow } from '@tributary/contracts/reports'
import { installsInWindow, type Report, windowDays } from '../report.ts'

/**
 * Installs by day and how many of them came back (docs/rules.md#cohorts-report). The first statement finds the days of the
 * page. The second counts everything on these days at once, so that the numbers of a row fit together.
 */
export const cohortsReport: Report<'cohorts'> = async ({ clickhouse }, { app_id, limit, offset, ...window }) => {
  const known = windowDays(window)
  if (known === null) return { rows: [], missing_rates: [] }
  const params = { app_id, ...known }
  const page = await clickhouse.query<{ day: string }>(daysSql, { ...params, limit, offset })
  if (page.length === 0) return { rows: [], missing_rates: [] }
  const counts = await clickhouse.query<CountRow>(countsSql, { ...params, days: page.map(({ day }) => day) })
  return { rows: counts.map(rowOf), missing_rates: [] }
}

type CountRow = Pick<ReportRow<'cohorts'>, 'day' | 'installs' | 'd1' | 'd7' | 'd30'>

const rowOf = (counts: CountRow): ReportRow<'cohorts'> => {
  const rate = (retained: number) => Math.round((retained * 10_000) / counts.installs) / 10_000
  return { ...counts, d1_rate: rate(counts.d1), d7_rate: rate(counts.d7), d30_rate: rate(counts.d30) }
}

/** Installs of the window that are no reinstalls, once each. `days` is a condition on the day; it may be empty. */
const cohortSql = (days: string) => `
  SELECT day AS date, installed_at_ms AS installed_ms, install_key
  FROM installs_by_day_v1 FINAL
  WHERE ${installsInWindow} AND reinstall = 0 ${days}
  GROUP BY date, installed_ms, install_key
  HAVING sum(sign) > 0`

const daysSql = `
SELECT toString(date) AS day
FROM (${cohortSql('')}
)
GROUP BY date
ORDER BY date
LIMIT {limit:UInt32} OFFSET {offset:UInt64}`

/** The number of the 24 hours after an install that a time is in, from 0 on; negative before the install. */
const windowOf = (ts_ms: string) => `floor((${ts_ms} - installed_ms) / ${day_ms})`

// A UTC day meets two of these windows of an install at most. The first event of the day is in the earlier one of those with an
// event, and the last event is in the later one. A day may have several rows; each tells the truth.
const countsSql = `
WITH cohort AS (${cohortSql('AND day IN {days:Array(Date)}')}
)
SELECT toString(date) AS day, count() AS installs, sum(on_1) AS d1, sum(on_7) AS d7, sum(on_30) AS d30
FROM (
  SELECT date, install_key, ${[1, 7, 30].map((n) => `max(first = ${n} OR last = ${n}) AS on_${n}`).join(', ')}
  FROM (
    SELECT date, install_key, -1. AS first, -1. AS last FROM cohort
    UNION ALL
    SELECT date, install_key, ${windowOf('min_ts_ms')} AS first, ${windowOf('max_ts_ms')} AS last
    FROM (
      SELECT install_key, min_ts_ms, max_ts_ms
      FROM activity_by_day_v1
      WHERE app_id = {app_id:String} AND day > arrayMin({days:Array(Date)}) AND day <= arrayMax({days:Array(Date)}) + 31
      UNION ALL
      SELECT sipHash64(install_uuid), min_ts_ms, max_ts_ms
      FROM activity_per_day_v1
      WHERE app_id = {app_id:String} AND day > arrayMin({days:Array(Date)}) AND day <= arrayMax({days:Array(Date)}) + 31
    ) AS activity
    INNER JOIN cohort USING (install_key)
    WHERE first IN (1, 7, 30) OR last IN (1, 7, 30)
  )
  GROUP BY date, install_key
)
GROUP BY date
ORDER BY date`
