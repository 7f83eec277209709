import { daysOf, type ReportRow } from '@tributary/contracts/reports'
import { addDays } from '@tributary/tables/settled/days'
import { findSettledCohorts, type SettledCohorts } from '@tributary/tables/settled/find-settled'
import { activityDays, type CohortPair, retainedSql, settledRetainedSql } from '@tributary/tables/settled/sql/cohorts'
import { ofWindowSql } from '../of-installs.ts'
import { filterSql, type Report, type ReportSources } from '../report.ts'
import { firstDayOf, type WindowDays, windowDays } from '../window-days.ts'
import { both, daysParams, divideDays, type FoundDays, findDays, momentsOf, windowSql } from '../window-rows.ts'

/**
 * Installs by period and how many of them came back (docs/rules.md#cohorts-report). The installs of each day
 * decide which rows are on the page. Then their retained installs are counted: settled pairs of day and number are read as they
 * are stored, and other pairs are counted live.
 */
export const cohortsReport: Report<'cohorts'> = async (
  sources,
  { app_id, limit, offset, count_rows: _, filters, group, days: requested, ...window },
) => {
  const days = windowDays(window)
  if (days === null) return { rows: [], all_rows: 0, missing_rates: [] }
  const isFiltered = Object.keys(filters).length > 0
  const ofInstalls = isFiltered ? ofWindowSql(filters, 'installs') : undefined
  const found = isFiltered ? divideDays('installs', days, new Set()) : await findDays(sources, 'installs', app_id, days)
  const params = { app_id, ...days, ...daysParams(found), ...filterSql(filters).params }
  const sql = installsSql(found, firstDayOf[group]('date'), ofInstalls)
  const installs = await sources.clickhouse.query<InstallsRow>(sql, params)
  const periods = [...Map.groupBy(installs, ({ period }) => period)]
  const page = periods.slice(offset, offset + limit)
  const numbers = daysOf('cohorts', requested)
  const install_days = page.flatMap(([, group]) => group.map(({ install_day }) => install_day))
  // The install event is on day 0, also where the clock of its device was slow (docs/rules.md#cohorts-report).
  const later = numbers.filter((n) => n > 0)
  const retainedOf = await countRetained(sources, params, install_days, { numbers: later, ofInstalls })
  const rows = page.map(([day, group]) => {
    const sum = (count: (row: InstallsRow) => number) => group.reduce((total, row) => total + count(row), 0)
    const came = numbers.map((n) =>
      sum(({ install_day, installs }) => (n === 0 ? installs : retainedOf({ day: install_day, n }))),
    )
    return rowOf(
      day,
      sum(({ installs }) => installs),
      numbers,
      came,
    )
  })
  return { rows, all_rows: periods.length, missing_rates: [] }
}

interface InstallsRow {
  /** First day of the period. */
  period: string
  install_day: string
  installs: number
}

const installsSql = (found: FoundDays<'installs'>, period: string, ofInstalls?: string) => `
SELECT toString(${period}) AS period, toString(date) AS install_day, sum(fresh) AS installs
FROM (
  SELECT date, installs AS fresh
  FROM (${windowSql(found, 'groups', { ofInstalls })}
  )
)
GROUP BY date
HAVING installs > 0
ORDER BY date`

function rowOf(
  day: string,
  installs: number,
  numbers: readonly number[],
  came: readonly number[],
): ReportRow<'cohorts'> {
  // Two statements count installs and retained installs. An install that goes in between must not make a rate above 1.
  const rate = (count: number) => Math.min(1, Math.round((count * 10_000) / installs) / 10_000)
  const counts = numbers.map((n, at) => [`d${n}`, came[at]!])
  const rates = numbers.map((n, at) => [`d${n}_rate`, rate(came[at]!)])
  return { day, installs, ...Object.fromEntries([...counts, ...rates]) }
}

/** How many installs of a day came back after a number of days. */
type RetainedOf = (pair: CohortPair) => number

async function countRetained(
  { clickhouse }: ReportSources,
  window: WindowDays & { app_id: string },
  install_days: readonly string[],
  { numbers, ofInstalls }: { numbers: readonly number[]; ofInstalls: string | undefined },
): Promise<RetainedOf> {
  const { app_id, whole_from, whole_to } = window
  const mayBeSettled = (day: string) => ofInstalls === undefined && day >= whole_from && day < whole_to
  const [from, last] = [install_days.find(mayBeSettled), install_days.findLast(mayBeSettled)]
  const range = from === undefined || last === undefined ? null : { app_id, from, to: addDays(last, 1), numbers }
  const found: SettledCohorts =
    range === null ? { settled: [], live: [] } : await findSettledCohorts(clickhouse, 'cohorts', range)
  const edges = install_days.filter((day) => !mayBeSettled(day)).flatMap((day) => numbers.map((n) => ({ day, n })))
  // A day without installs needs no look at events.
  const with_installs = new Set(install_days)
  const live = [...found.live.filter(({ day }) => with_installs.has(day)), ...edges]
  const parts: SettledCohorts = { settled: found.settled, live }
  const rows = await clickhouse.query<CohortPair & { came: number }>(retainedSqlOf(parts, ofInstalls), {
    ...window,
    ...Object.fromEntries(
      Object.entries(parts).flatMap(([part, pairs]: [string, CohortPair[]]) => [
        [`${part}_days`, pairs.map(({ day }) => day)],
        [`${part}_numbers`, pairs.map(({ n }) => n)],
        [`${part}_activity`, activityDays(pairs)],
      ]),
    ),
  })
  const counts = new Map(rows.map(({ day, n, came }) => [`${day}/${n}`, came]))
  return ({ day, n }) => counts.get(`${day}/${n}`) ?? 0
}

const pairsOf = (part: 'settled' | 'live') => ({
  app_id: '{app_id:String}',
  days: `{${part}_days:Array(Date)}`,
  numbers: `{${part}_numbers:Array(UInt16)}`,
  activity_days: `{${part}_activity:Array(Date)}`,
})

const settledPairs = settledRetainedSql(pairsOf('settled'))
const livePairsOf = (ofInstalls?: string) =>
  retainedSql({ ...pairsOf('live'), moments: both(momentsOf('installs'), ofInstalls)! })

function retainedSqlOf({ settled, live }: SettledCohorts, ofInstalls?: string): string {
  const livePairs = livePairsOf(ofInstalls)
  return `
SELECT toString(date) AS day, n, retained AS came
FROM (${live.length === 0 ? settledPairs : settled.length === 0 ? livePairs : `${settledPairs} UNION ALL ${livePairs}`}
)`
}
