import { newestMark } from '@tributary/tables/events/raw-expired'
import { addDays, daysBetween } from '@tributary/tables/settled/days'
import { countedSql, isUnverified } from '@tributary/tables/settled/sql/money'
import { isTouched, isUntouched } from '@tributary/tables/settled/sql/uniques'
import { readLastDayWhole } from '../last-day-whole.ts'
import { type Amount, convertMoney, findRates, lookupsOf, missingRates } from '../money/money.ts'
import { findTakenMoney } from '../money/taken-money.ts'
import { allRowsSql, queryPage } from '../query-page.ts'
import { filterSql, type Report, type ReportRequest, type ReportSources } from '../report.ts'
import {
  firstDayOf,
  partlyCoveredDays,
  type WindowDays,
  wholeDays,
  wholeWindow,
  windowDays,
  withWholeDays,
} from '../window-days.ts'
import { both, daysParams, findDays, momentsOf, windowSql } from '../window-rows.ts'

/**
 * Counts by period and event name. Whole UTC days come from roll-ups, partly covered ones from raw rows; a day is never both. A window until
 * now takes its last day as whole (`readLastDayWhole`). `unique_installs` is read only for the rows of the page, because sets of installs
 * are expensive to read. Those of a day come from settled figures, those of a week or a month from sets. An edge in a day whose raw rows have
 * expired takes the whole day. Money counts by docs/rules.md#money-once. It is summed in its own currency, then each row is converted to USD.
 */
export const eventsReport: Report<'events'> = async (sources, request) => {
  const { clickhouse } = sources
  const { app_id } = request
  const asked = windowDays(request)
  if (asked === null) return { rows: [], all_rows: 0, missing_rates: [] }
  const { whole_days, ...window } = withWholeDays(asked, await findRawExpired(clickhouse, app_id, asked))
  const page = await readLastDayWhole({ clickhouse, app_id, window }, (days) => readPage(sources, request, days))
  return { ...page, whole_days: whole_days ? window : undefined }
}

async function readPage(
  sources: ReportSources,
  { app_id, limit, offset, count_rows, count_uniques, filters, group }: ReportRequest,
  days: WindowDays,
) {
  const { clickhouse, fxRates } = sources
  const filter = filterSql(filters)
  const takenMoney = await findTakenMoney(sources, app_id)
  const window_days = daysBetween(days.first_day, addDays(days.last_day, 1))
  const params = { app_id, ...days, window_days, ...filter.params }
  const amounts = amountsSql(filter.passes, takenMoney !== undefined)
  const periodOf = firstDayOf[group]
  const requested = { limit, offset, count_rows }
  const sql = countsSql(periodOf('date'), amounts, allRowsSql(requested))
  const { page, all_rows } = await queryPage<CountRow>(clickhouse, sql, params, requested)
  const countUniques = async () => {
    const counted = group === 'day' ? await countDays(sources, params, page) : countSets(periodOf('day'), filter.passes)
    return queryUniques(sources, counted.sql, { ...params, ...counted.params }, page)
  }
  const uniques = count_uniques === false ? new Map<string, number>() : await countUniques()
  const rateOf = await findRates(fxRates, lookupsOf(page))
  const isWhole = offset === 0 && page.length < limit
  const spent = currenciesSql(filter.passes, takenMoney)
  const at_most = isWhole ? currenciesOf(page) : await clickhouse.query<Currency>(spent.at_most, params)
  const missing_rates = await findMissingRates(sources, { at_most, exact: spent.exact }, params)
  const rows = page.map(({ day, event_name, events, money }) => ({
    day,
    event_name,
    events,
    unique_installs: uniques.get(day + event_name) ?? 0,
    revenue_usd: convertMoney(rateOf, money),
  }))
  return { rows, all_rows, missing_rates }
}

/** The first day whose raw events retention has left; null when all are there, or when no raw events are read. */
async function findRawExpired({ query }: ReportSources['clickhouse'], app_id: string, { edge_days }: WindowDays) {
  if (edge_days.length === 0) return null
  const [row] = await query<{ before: string }>(
    `SELECT toString(${newestMark}) AS before FROM raw_expired_v1 WHERE app_id = {app_id:String}`,
    { app_id },
  )
  return row?.before ?? null
}

interface CountRow {
  day: string
  event_name: string
  events: number
  /** Each UTC day and currency of events with revenue; the sum may be 0. */
  money: Amount[]
}

/** Counts and money by day, event name and currency, `verifiedOnly` without that of unverified receipts. `passes` is a condition on the event name. */
const amountsSql = (passes: string, verifiedOnly: boolean) => `
  SELECT date, event_name, code, sum(n) AS n, sum(micros) AS amount
  FROM (
    SELECT day AS date, event_name, currency AS code, toInt64(sum(events)) AS n, sum(revenue_micros) AS micros
    FROM events_per_day_v1
    WHERE ${wholeDays} AND ${passes}
    GROUP BY date, event_name, code
    UNION ALL
    SELECT day AS date, event_name, currency AS code, -toInt64(sum(events)) AS n, -sum(revenue_micros) AS micros
    FROM erased_events_v1 FINAL
    WHERE ${wholeDays} AND ${passes}
    GROUP BY date, event_name, code
    UNION ALL
    SELECT day AS date, event_name, currency AS code, toInt64(count()) AS n,
      sumIf(toInt128(ifNull(revenue_micros, 0)), revenue_counts = 1) AS micros
    FROM events_raw_v1
    WHERE ${partlyCoveredDays} AND ${passes}
    GROUP BY date, event_name, code
    UNION ALL
    SELECT day AS date, event_name, currency AS code, toInt64(0) AS n, -sum(toInt128(amount_micros)) AS micros
    FROM revenue_cancelled_v1 FINAL
    WHERE ${wholeWindow} AND ${passes}
    GROUP BY date, event_name, code
    UNION ALL
    SELECT day AS date, event_name, currency AS code, toInt64(0) AS n, sum(toInt128(amount_micros)) AS micros
    FROM revenue_chosen_v1 FINAL
    WHERE ${wholeWindow} AND ${passes} AND counts = 1
    GROUP BY date, event_name, code
    ${verifiedOnly ? `UNION ALL ${unverifiedAmountsSql(passes)}` : ''}
  )
  GROUP BY date, event_name, code`

/** What is counted of unverified receipts, to be subtracted. */
const unverifiedAmountsSql = (passes: string) => `
    SELECT date, event_name, code, toInt64(0) AS n, -sum(amount) AS micros
    FROM (${countedSql(window, `${passes} AND ${isUnverified('{app_id:String}')}`)}
    )
    GROUP BY date, event_name, code`

const countsSql = (period: string, amounts: string, allRows: string) => `
SELECT toString(${period}) AS day, event_name, sum(n) AS events,
  groupArrayIf((toString(date), code, toString(amount)), notEmpty(code)) AS money, ${allRows}
FROM (${amounts}
)
GROUP BY ${period}, event_name
HAVING events > 0
ORDER BY ${period}, event_name
LIMIT {limit:UInt32} OFFSET {offset:UInt64}`

interface Currency {
  currency: string
  /** The first day with money of it. */
  day: string
}

/** The result of `at_most` of `currenciesSql` without a query, from a page that holds all rows. */
function currenciesOf(rows: readonly CountRow[]): Currency[] {
  const firstDay = new Map<string, string>()
  for (const [day, currency] of rows.flatMap(({ money }) => money)) {
    if (day < (firstDay.get(currency) ?? '9')) firstDay.set(currency, day)
  }
  return [...firstDay]
    .map(([currency, day]) => ({ currency, day }))
    .toSorted((a, b) => (a.currency < b.currency ? -1 : 1))
}

/**
 * The currencies without a rate in which money counts on any page, be it 0. Money events are read only if a rate is missing: `at_most` may
 * name more, and earlier days.
 */
async function findMissingRates(
  { clickhouse, fxRates }: ReportSources,
  { at_most, exact }: { at_most: readonly Currency[]; exact: string },
  params: Params,
): Promise<string[]> {
  const missing = await missingRates(fxRates, at_most)
  if (missing.length === 0) return []
  return missingRates(fxRates, await clickhouse.query<Currency>(exact, params))
}

type Params = Readonly<Record<string, unknown>>

const inWindow = 'app_id = {app_id:String} AND day >= {first_day:Date} AND day <= {last_day:Date}'

/** The currencies with money in the window, each with its first day. */
const currenciesSql = (passes: string, takenMoney?: string) => ({
  at_most: `
SELECT currency, toString(min(t.day)) AS day
FROM (
  SELECT currency, day, event_name FROM events_per_day_v1 WHERE ${inWindow}
  UNION ALL SELECT currency, day, event_name FROM revenue_chosen_v1 WHERE ${inWindow}
) AS t
WHERE notEmpty(currency) AND ${passes}
GROUP BY currency
ORDER BY currency`,
  exact: `
SELECT code AS currency, toString(min(date)) AS day
FROM (${countedSql(window, both(passes, takenMoney))}
)
GROUP BY code
ORDER BY code`,
})

const window = { app_id: '{app_id:String}', days: '{window_days:Array(Date)}', moments: momentsOf('money') }

interface UniqueRow {
  day: string
  event_name: string
  unique_installs: number
}

/** Distinct installs of the rows of a page, by period and event name. */
async function queryUniques(
  { clickhouse }: ReportSources,
  sql: string,
  params: object,
  page: readonly CountRow[],
): Promise<Map<string, number>> {
  const first = page[0]
  const last = page.at(-1)
  if (first === undefined || last === undefined) return new Map()
  const rows = await clickhouse.query<UniqueRow>(sql, {
    ...params,
    page_first_day: first.day,
    page_first_name: first.event_name,
    page_last_day: last.day,
    page_last_name: last.event_name,
  })
  return new Map(rows.map((row) => [row.day + row.event_name, row.unique_installs]))
}

// Rows are ordered by period and name, so a page is one range of both.
const pageRange = (period: string) => `${period} >= {page_first_day:Date} AND ${period} <= {page_last_day:Date}
    AND (${period} > {page_first_day:Date} OR event_name >= {page_first_name:String})
    AND (${period} < {page_last_day:Date} OR event_name <= {page_last_name:String})`

/** Counts a page of days: as they are settled, or from sets. */
async function countDays(sources: ReportSources, window: WindowDays & { app_id: string }, page: readonly CountRow[]) {
  const { whole_from, whole_to, edge_days } = window
  const shown = new Set(page.map(({ day }) => day))
  const whole = [...shown].filter((day) => day >= whole_from && day < whole_to)
  const found = await findDays(sources, 'uniques', window.app_id, {
    whole_from: whole[0] ?? whole_to,
    whole_to: addDays(whole.at(-1) ?? whole_to, whole.length > 0 ? 1 : 0),
    edge_days: edge_days.filter((day) => shown.has(day)),
  })
  const sql = `
SELECT toString(date) AS day, event_name, installs AS unique_installs
FROM (${windowSql(found, 'uniques')}
)
WHERE ${pageRange('date')}`
  return { sql, params: daysParams(found) }
}

/** Counts a page of longer periods, whose distinct installs are no sum of days. */
const countSets = (period: string, passes: string) => ({ sql: setsSql(period, passes), params: {} })

const setsSql = (period: string, passes: string) => `
SELECT toString(date) AS day, event_name, uniqExactMerge(installs) AS unique_installs
FROM (
  SELECT ${period} AS date, event_name, installs
  FROM event_installs_per_day_v1
  WHERE ${wholeDays} AND ${pageRange(period)} AND ${passes} AND ${isUntouched(wholeDays)}
  UNION ALL
  SELECT ${period} AS date, event_name, uniqExactState(install_uuid) AS installs
  FROM events_raw_v1
  WHERE ${wholeDays} AND ${pageRange(period)} AND ${passes} AND ${isTouched(wholeDays)}
  GROUP BY date, event_name
  UNION ALL
  SELECT ${period} AS date, event_name, uniqExactState(install_uuid) AS installs
  FROM events_raw_v1
  WHERE ${partlyCoveredDays} AND ${pageRange(period)} AND ${passes}
  GROUP BY date, event_name
)
GROUP BY date, event_name`
