import { day_ms } from '@tributary/contracts/limits'
import type { ReportGroup } from '@tributary/contracts/report-parameters'
import type { ReportRow } from '@tributary/contracts/reports'
import type { FxLookup } from '@tributary/tenancy/fx-rates'
import { type Amount, convertMoney, findRates, lookupsOf, missingRates } from '../money/money.ts'
import { queryPage } from '../query-page.ts'
import { filterSql, type Report } from '../report.ts'
import { firstDayOf, windowDays } from '../window-days.ts'

/** Uploaded costs by period and what they were spent on (docs/rules.md#costs-report). Days are whole. */
export const costsReport: Report<'costs'> = async (
  { clickhouse, fxRates },
  { app_id, limit, offset, count_rows, filters, group, ...window },
) => {
  const days = windowDays(window)
  if (days === null) return { rows: [], all_rows: 0, missing_rates: [] }
  const { first_day, last_day, edge_days } = days
  const { passes, params: filtered } = filterSql(filters)
  const params = { app_id, first_day, last_day, ...filtered }
  const sql = group === 'day' ? costsOfDaysSql(passes, count_rows) : costsOfPeriodsSql(passes, group, count_rows)
  const { page, all_rows } = await queryPage<CostRow>(clickhouse, sql, params, { limit, offset, count_rows })
  const spent = await clickhouse.query<FxLookup>(spentSql(passes), params)
  const rateOf = await findRates(fxRates, lookupsOf(page))
  const rows = page.map(({ micros, money, ...row }): ReportRow<'costs'> => {
    const { day, partner, campaign, ad_group, country, currency, clicks, impressions, uploaded_at_ms } = row
    const cost = Number(decimal(micros))
    const cost_usd = convertMoney(rateOf, money)
    return {
      ...{ day, partner, campaign, ad_group, country, cost, currency, cost_usd, clicks, impressions, uploaded_at_ms },
    }
  })
  const whole_days = { since_ms: Date.parse(first_day), until_ms: Date.parse(last_day) + day_ms }
  return {
    ...{ rows, all_rows, missing_rates: await missingRates(fxRates, spent) },
    ...(edge_days.length > 0 && { whole_days }),
  }
}

/** A row before its money is converted. */
interface CostRow extends Omit<ReportRow<'costs'>, 'cost' | 'cost_usd'> {
  micros: string
  money: Amount[]
}

/** Micros as a decimal text, so that the nearest number is taken once. */
const decimal = (micros: string): string => `${micros.slice(0, -6) || '0'}.${micros.slice(-6).padStart(6, '0')}`

/** Newest uploads alone: FINAL takes the greatest version of a key, merged or not. A cost of 0 is none. */
const newest = (passes: string) => `costs_v1 FINAL
WHERE app_id = {app_id:String} AND day >= {first_day:Date} AND day <= {last_day:Date} AND cost_micros != 0 AND ${passes}`

/** Rows in the order of the table, which is that of the report: a page reads no further than it must. */
const costsOfDaysSql = (passes: string, count_rows: boolean) => `
SELECT toString(d) AS day, partner, campaign, ad_group, country, toString(cost_micros) AS micros, currency, clicks, impressions,
  uploaded_at_ms, [(toString(d), toString(currency), toString(cost_micros))] AS money,
  ${count_rows ? `(SELECT count() FROM ${newest(passes)})` : 'toUInt64(0)'} AS all_rows
FROM (
SELECT app_id, day AS d, partner, campaign, ad_group, country, cost_micros, currency, clicks, impressions, uploaded_at_ms
FROM ${newest(passes)}
ORDER BY app_id, day, partner, campaign, ad_group, country
LIMIT {limit:UInt32} OFFSET {offset:UInt64}
)
ORDER BY d, partner, campaign, ad_group, country`

const costsOfPeriodsSql = (passes: string, group: ReportGroup, count_rows: boolean) => `
SELECT toString(period) AS day, partner, campaign, ad_group, country, toString(sum(toInt128(of_day))) AS micros, currency,
  sum(day_clicks) AS clicks, sum(day_impressions) AS impressions, max(newest_ms) AS uploaded_at_ms,
  groupArray((toString(d), toString(currency), toString(of_day))) AS money,
  ${count_rows ? 'count() OVER ()' : 'toUInt64(0)'} AS all_rows
FROM (
SELECT day AS d, ${firstDayOf[group]('day')} AS period, partner, campaign, ad_group, country, currency, cost_micros AS of_day,
  clicks AS day_clicks, impressions AS day_impressions, uploaded_at_ms AS newest_ms
FROM ${newest(passes)}
)
GROUP BY period, partner, campaign, ad_group, country, currency
ORDER BY period, partner, campaign, ad_group, country, currency
LIMIT {limit:UInt32} OFFSET {offset:UInt64}`

/** The first day of each currency of the window, on any page. */
const spentSql = (passes: string) => `
SELECT currency, toString(min(d)) AS day
FROM (
SELECT day AS d, currency FROM ${newest(passes)}
)
GROUP BY currency
ORDER BY currency`
