import { day_ms } from '@tributary/contracts/limits'
import { daysOf, type ReportRow } from '@tributary/contracts/reports'
import { firstDayOf, installsInWindow, type Report, windowDays } from '../report.ts'

/**
 * Installs by period and how many of them came back (docs/rules.md#cohorts-report). The first statement counts the
 * installs of each day, which tells the page. The second looks for events in the asked days of the installs of the page.
 */
export const cohortsReport: Report<'cohorts'> = async (
  { clickhouse },
  { app_id, limit, offset, group, days: asked, ...window },
) => {
  const known = windowDays(window)
  if (known === null) return { rows: [], missing_rates: [] }
  const params = { app_id, ...known }
  const installs = await clickhouse.query<InstallsRow>(installsSql(firstDayOf[group]('date')), params)
  const page = [...Map.groupBy(installs, ({ period }) => period)].slice(offset, offset + limit)
  const ns = daysOf('cohorts', asked)
  const days = page.flatMap(([, group]) => group.map(({ install_day }) => install_day))
  const bits = ns.map((_, at) => 2 ** at)
  const retained =
    days.length === 0 ? [] : await clickhouse.query<RetainedRow>(retainedSql, { ...params, days, ns, bits })
  const retainedOf = new Map(retained.map(({ install_day, retained }) => [install_day, retained]))
  const rows = page.map(([day, group]) => {
    const count = group.reduce((sum, { installs }) => sum + installs, 0)
    const came = ns.map((_, at) =>
      group.reduce((sum, { install_day }) => sum + (retainedOf.get(install_day)?.[at] ?? 0), 0),
    )
    return rowOf(day, count, ns, came)
  })
  return { rows, missing_rates: [] }
}

interface InstallsRow {
  /** First day of the period. */
  period: string
  install_day: string
  installs: number
}
interface RetainedRow {
  install_day: string
  /** In the order of the asked days. */
  retained: number[]
}

function rowOf(day: string, installs: number, ns: readonly number[], came: readonly number[]): ReportRow<'cohorts'> {
  const counts = ns.map((n, at) => [`d${n}`, came[at]])
  // An install that was counted in between came back without being an install: a rate stays a rate.
  const rates = ns.map((n, at) => [
    `d${n}_rate`,
    Math.min(1, Math.round(((came[at] ?? 0) * 10_000) / installs) / 10_000),
  ])
  return { day, installs, ...Object.fromEntries([...counts, ...rates]) }
}

/** Installs of the window that are no reinstalls, once each. `days` is a condition on the day; it may be empty. */
const cohortSql = (days: string) => `
  SELECT day AS date, installed_at_ms AS installed_ms, install_key
  FROM installs_by_day_v1 FINAL
  WHERE ${installsInWindow} AND reinstall = 0 ${days}
  GROUP BY date, installed_ms, install_key
  HAVING sum(sign) > 0`

const installsSql = (period: string) => `
SELECT toString(${period}) AS period, toString(date) AS install_day, count() AS installs
FROM (${cohortSql('')}
)
GROUP BY date
ORDER BY date`

/** The number of the 24 hours after an install that a time is in, from 0 on; negative before the install. */
const windowOf = (ts_ms: string) => `toInt32(floor((${ts_ms} - installed_ms) / ${day_ms}))`
/** The bit of a window; 0 if it is not asked for. */
const bitOf = (window: string) => `transform(${window}, {ns:Array(Int32)}, {bits:Array(UInt32)}, toUInt32(0))`

// A UTC day meets two of these windows of an install at most. The first event of the day is in the earlier one of those with an
// event, and the last event is in the later one. A day may have several rows in `activity_per_day_v1`; each tells the truth.
const retainedSql = `
SELECT toString(date) AS install_day, sumForEach(arrayMap(bit -> bitAnd(came, bit) != 0, {bits:Array(UInt32)})) AS retained
FROM (
  SELECT date, install_key, groupBitOr(bitOr(${bitOf(windowOf('min_ts_ms'))}, ${bitOf(windowOf('max_ts_ms'))})) AS came
  FROM (
    SELECT install_key, min_ts_ms, max_ts_ms FROM activity_by_day_v1
    WHERE app_id = {app_id:String} AND day >= arrayMin({days:Array(Date)}) + arrayMin({ns:Array(Int32)})
      AND day <= arrayMax({days:Array(Date)}) + arrayMax({ns:Array(Int32)}) + 1
    UNION ALL
    SELECT sipHash64(install_uuid) AS install_key, min_ts_ms, max_ts_ms
    FROM activity_per_day_v1
    WHERE app_id = {app_id:String} AND day >= arrayMin({days:Array(Date)}) + arrayMin({ns:Array(Int32)})
      AND day <= arrayMax({days:Array(Date)}) + arrayMax({ns:Array(Int32)}) + 1
  ) AS activity
  INNER JOIN (${cohortSql('AND day IN {days:Array(Date)}')}
  ) AS cohort USING (install_key)
  GROUP BY date, install_key
  HAVING came != 0
)
GROUP BY date`
