import { textLiteral } from '@tributary/clickhouse/literals'
import { day_ms, limits } from '@tributary/contracts/limits'
import {
  type ReportDimension,
  type ReportFilters,
  type ReportGroup,
  reportDimensions,
} from '@tributary/contracts/report-parameters'
import { frozenDaysSql, frozenSql } from '@tributary/tables/attribution/frozen-clicks'
import { countedSql, isPurchase } from '@tributary/tables/settled/sql/money'
import { factorsSql } from '../money/factors.ts'
import { firstDayOf } from '../window-days.ts'

/** The parts of a request that the statements depend on. */
export interface Asked {
  by: readonly ReportDimension[]
  group: ReportGroup
  /** Days since the install, ascending. */
  days: readonly number[]
  filters: ReportFilters
  /** SQL condition on the dimensions that have a filter. */
  passes: string
  hasClicks: boolean
  hasCosts: boolean
  /** Names of the parameters with factors. */
  factors: readonly string[]
}

const of_costs: readonly string[] = ['partner', 'campaign', 'ad_group', 'country']
const not_of_clicks = /^(sub\d|attribution_type)$/

/** Whether clicks, and costs, have what the rows and the filters are of. */
export const partsOf = (by: readonly ReportDimension[], filters: ReportFilters) => ({
  hasClicks: !by.some((one) => not_of_clicks.test(one)) && filters.attribution_type === undefined,
  hasCosts: [...by, ...Object.keys(filters)].every((one) => of_costs.includes(one)),
})

const inWindow = 'app_id = {app_id:String} AND day >= {first_day:Date} AND day <= {last_day:Date}'
const listOf = (names: readonly string[]) => names.map((name) => `${name}, `).join('')

/** The installs of the window with their newest verdict: `on, install_key, installed_ms` and what rows are of. New ones alone. */
const freshSql = ({ by, passes }: Pick<Asked, 'by' | 'passes'>) => `
      SELECT day AS on, ${listOf(by)}install_key, installed_at_ms AS installed_ms
      FROM installs_by_dimensions_v1 FINAL
      WHERE ${inWindow} AND reinstall = 0 AND ${passes}
      GROUP BY on, ${listOf(by)}install_key, installed_ms
      HAVING sum(sign) > 0`

/** Money of new installs from the install time on: `on, install_key, event_name, money_day, code, amount, age` and what rows are of. */
const moneySql = (asked: Pick<Asked, 'by' | 'passes'>) => `
    SELECT on, ${listOf(asked.by)}install_key, event_name, date AS money_day, code, amount,
      intDiv(ts + correction - installed_ms, ${day_ms}) AS age
    FROM (${countedSql(
      { app_id: '{app_id:String}', days: '{money_days:Array(Date)}' },
      `install_key IN (SELECT install_key FROM installs_by_dimensions_v1 WHERE ${inWindow} AND reinstall = 0 AND ${asked.passes})`,
    )}
    ) AS counted
    INNER JOIN (${freshSql(asked)}
    ) AS fresh USING (install_key)
    WHERE ts + correction >= installed_ms`

/** Uploaded costs; one that lacks a dimension has `*` there. */
const costsSql = (passes: string) => `
    SELECT on, partner, campaign, ad_group, country, code, micros
    FROM (
      SELECT day AS on, partner, ${['campaign', 'ad_group', 'country'].map((one) => `if(${one} = '', '*', ${one}) AS ${one}`).join(', ')},
        currency AS code, cost_micros AS micros
      FROM (
        SELECT day, partner, toString(campaign) AS campaign, toString(ad_group) AS ad_group, toString(country) AS country, currency, cost_micros
        FROM costs_v1 FINAL
        WHERE ${inWindow} AND cost_micros != 0
      )
    )
    WHERE ${passes}`

const clickLabels: readonly string[] = reportDimensions.filter(
  (one) => !['partner', 'campaign', 'attribution_type'].includes(one),
)

/** Whether a filter is by what frozen counts do not know. */
export const isOfSubs = (filters: ReportFilters): boolean => Object.keys(filters).some((one) => one.startsWith('sub'))

/**
 * Clicks that no filter kept: `on`, the dimensions that are used, and `n`. Those of a frozen day are counted, and a row that came later is
 * none of them.
 */
const clicksSql = ({ by, filters, passes }: Asked) => {
  const used = [...new Set([...by, ...Object.keys(filters)])]
  const values = used.map((one) =>
    clickLabels.includes(one) ? `JSONExtractString(click, ${textLiteral(one)}) AS ${one}` : one,
  )
  return `
    SELECT on${used.map((one) => `, ${one}`).join('')}, n
    FROM (
      SELECT day AS on${values.map((one) => `, ${one}`).join('')}, toUInt64(1) AS n
      FROM clicks_raw_v1 FINAL
      WHERE ${inWindow} AND filtered_reason = '' AND day NOT IN (${frozenDaysSql('{app_id:String}')})${
        isOfSubs(filters)
          ? ''
          : `
      UNION ALL
      SELECT day AS on${used.map((one) => `, ${one}`).join('')}, clicks AS n
      FROM ${frozenSql('{app_id:String}')} AND day >= {first_day:Date} AND day <= {last_day:Date}`
      }
    )
    WHERE ${passes}`
}

/** Each figure of a part, by its name; other parts have 0. Money is micros times factors, and lists are by `days`. */
const zeros = {
  of_clicks: 'toUInt64(0)',
  fresh: 'toInt64(0)',
  again: 'toInt64(0)',
  of_flagged: 'toInt64(0)',
  bought: 'toUInt64(0)',
  paid: 'toUInt64(0)',
  usd: 'toInt256(0)',
  uploads: 'toUInt64(0)',
  spent: 'toInt256(0)',
  came: "CAST([], 'Array(UInt64)')",
  earned: "CAST([], 'Array(Int256)')",
}
type Figures = Partial<Record<keyof typeof zeros, string>>

const partSql = ({ by }: Asked, figures: Figures, from: string) => `
  SELECT on, ${listOf(by)}${Object.entries(zeros)
    .map(([name, zero]) => `${figures[name as keyof typeof zeros] ?? zero} AS ${name}`)
    .join(', ')}
  FROM ${from}
  GROUP BY on${by.map((one) => `, ${one}`).join('')}`

const arrayOf = (type: string, values: readonly string[]) => `CAST([${values.join(', ')}], 'Array(${type})')`

function partsSql(asked: Asked): string[] {
  const { by, days, passes, hasClicks, hasCosts, factors } = asked
  const installs = partSql(
    asked,
    {
      fresh: 'sumIf(toInt64(sign), reinstall = 0)',
      again: 'sumIf(toInt64(sign), reinstall = 1)',
      of_flagged: 'sumIf(toInt64(sign), reinstall = 0 AND flagged = 1)',
    },
    `(SELECT day AS on, ${listOf(by)}reinstall, flagged, sign FROM installs_by_dimensions_v1 FINAL WHERE ${inWindow} AND ${passes})`,
  )
  const money = partSql(
    asked,
    {
      bought: `countIf(${isPurchase})`,
      paid: `uniqExactIf(install_key, ${isPurchase} AND amount > 0 AND factor > 0)`,
      usd: 'sum(amount * factor)',
      earned: arrayOf(
        'Int256',
        days.map((n) => `sumIf(amount * factor, age <= ${Number(n)})`),
      ),
    },
    `(${moneySql(asked)}
    ) AS money
    LEFT JOIN (${factorsSql(factors)}
    ) AS factors USING (money_day, code)`,
  )
  const costs = partSql(
    asked,
    { uploads: 'count()', spent: 'sum(toInt128(micros) * factor)' },
    `(SELECT *, on AS money_day FROM (${costsSql(passes)})
    ) AS costs
    LEFT JOIN (${factorsSql(factors)}
    ) AS factors USING (money_day, code)`,
  )
  return [
    ...[installs, money],
    ...(days.some((n) => n > 0) ? [retainedPart(asked)] : []),
    ...(hasClicks ? [partSql(asked, { of_clicks: 'sum(n)' }, `(${clicksSql(asked)}\n  )`)] : []),
    ...(hasCosts ? [costs] : []),
  ]
}

const windowOf = (ts_ms: string) => `toInt32(floor((${ts_ms} - installed_ms) / ${day_ms}))`

/** Installs that came back, as `retainedSql` counts them. Day 0 is all installs. */
const retainedPart = (asked: Asked) =>
  partSql(
    asked,
    {
      came: arrayOf(
        'UInt64',
        asked.days.map((n) => (n === 0 ? '0' : `uniqExactIf(install_key, window = ${Number(n)})`)),
      ),
    },
    `(
    SELECT on, ${listOf(asked.by)}install_key, arrayJoin(if(first = last, [first], [first, last])) AS window
    FROM (
      SELECT on, ${listOf(asked.by)}install_key, ${windowOf('min_ts_ms')} AS first, ${windowOf('max_ts_ms')} AS last
      FROM (
        SELECT install_key, min_ts_ms, max_ts_ms FROM activity_by_day_v1
        WHERE app_id = {app_id:String} AND day IN {activity_days:Array(Date)}
      ) AS activity
      INNER JOIN (${freshSql(asked)}
      ) AS fresh USING (install_key)
    )
  )`,
  )

/**
 * All rows of all pages, in the order of the report, or one more than it may have. Lists that a part lacks are empty: `sumForEach` adds
 * the others.
 */
export function rowsSql(asked: Asked): string {
  const { by, group } = asked
  const period = firstDayOf[group]('on')
  const keys = ['period', ...by].join(', ')
  return `
SELECT toString(period) AS day, ${listOf(by)}sum(of_clicks) AS clicks, sum(fresh) AS installs, sum(again) AS reinstalls,
  sum(of_flagged) AS fraud_flagged, sum(bought) AS purchases, sum(paid) AS payers, toString(sum(usd)) AS revenue,
  sum(uploads) AS costs, toString(sum(spent)) AS cost, sumForEach(came) AS retained,
  arrayMap(x -> toString(x), sumForEach(earned)) AS revenues
FROM (
  SELECT ${period} AS period, * FROM (${partsSql(asked).join(`
  UNION ALL`)}
  )
)
GROUP BY ${keys}
HAVING clicks != 0 OR installs != 0 OR reinstalls != 0 OR costs != 0
ORDER BY ${keys}
LIMIT ${limits.report_grouped_rows_max + 1}`
}

/** Each day with money of a currency that rows sum up, be it 0. */
export const spentSql = ({ by, passes, hasCosts }: Omit<Asked, 'factors'>): string => `
SELECT code AS currency, toString(money_day) AS day
FROM (
  SELECT money_day, code FROM (${moneySql({ by, passes })}
  )${hasCosts ? ` UNION ALL SELECT on AS money_day, code FROM (${costsSql(passes)})` : ''}
)
GROUP BY code, money_day
ORDER BY code, money_day`

/** Whether the window has a day with frozen clicks. */
export const hasFrozenSql = `
SELECT count() > 0 AS has_frozen FROM (${frozenDaysSql('{app_id:String}')} AND day >= {first_day:Date} AND day <= {last_day:Date})`

/** The days and currencies of costs of the window, those behind a filter too. */
export const costCurrenciesSql = `
SELECT currency, toString(d) AS day FROM (SELECT DISTINCT currency, day AS d FROM costs_v1 WHERE ${inWindow})`
