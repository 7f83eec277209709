import { limits } from '@tributary/contracts/limits'
import type { ReportDimension, ReportFilters, ReportGroup } from '@tributary/contracts/report-parameters'
import { frozenDaysSql } from '@tributary/tables/attribution/frozen-clicks'
import { settledSql } from '@tributary/tables/settled/figures'
import {
  type CampaignList,
  campaignInstallsSql,
  campaignLists,
  clicksSql,
  earningsSql,
} from '@tributary/tables/settled/sql/campaigns'
import { retainedSql, settledCampaignsRetainedSql } from '@tributary/tables/settled/sql/cohorts'
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
  /** The list of settled campaigns and clicks that has what is asked for. */
  list: CampaignList | null
  /** SQL condition on money that is worked out; undefined: all of it counts. */
  takenMoney: string | undefined
  parts: Parts
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

const app_id = '{app_id:String}'
const inWindow = `app_id = ${app_id} AND day >= {first_day:Date} AND day <= {last_day:Date}`
const listOf = (names: readonly string[]) => names.map((name) => `${name}, `).join('')

/** The least list of settled campaigns and clicks that has what is asked for; null: it is worked out from raw rows. */
export function listFor(by: readonly ReportDimension[], filters: ReportFilters): CampaignList | null {
  const used = usedBy(by, filters)
  const lists = Object.entries(campaignLists) as [CampaignList, readonly string[]][]
  return lists.find(([, of]) => used.every((one) => of.includes(one)))?.[0] ?? null
}

const usedBy = (by: readonly ReportDimension[], filters: ReportFilters) => [
  ...new Set([...by, ...(Object.keys(filters) as ReportDimension[])]),
]

type PartName = 'campaigns' | 'clicks' | 'earnings' | 'cohorts'
/** Which of the live and the settled rows of a part are read: the engine plans a statement without empty ones faster. */
export type Parts = Record<PartName, { live: boolean; settled: boolean }>

/** The rows of a part that are read, each through `select`. */
const readSql = (
  { parts }: Pick<Asked, 'parts'>,
  name: PartName,
  { live, settled }: { live: string; settled: () => string },
  select: (sql: string) => string,
): string =>
  [...(parts[name].live ? [live] : []), ...(parts[name].settled ? [settled()] : [])].map(select).join('\n  UNION ALL ')

/** Rows of a figure, settled and live: `date`, the dimensions that are used, and its columns. */
function campaignRows(name: 'campaigns' | 'clicks', asked: Pick<Asked, 'by' | 'filters' | 'list' | 'parts'>) {
  const { by, filters, list } = asked
  const at = { app_id, days: `{live_${name}:Array(Date)}` }
  const used = usedBy(by, filters)
  const columns = name === 'clicks' ? 'clicks' : 'installs, reinstalls, fraud_flagged'
  const live = name === 'clicks' ? clicksSql(at, used, { frozen: !isOfSubs(filters) }) : campaignInstallsSql(at, used)
  const settled = () => settledSql(name, list!, { app_id, days: `{settled_${name}:Array(Date)}` })
  const select = (sql: string) => `SELECT date, ${listOf(used)}${columns} FROM (${sql}\n  )`
  return readSql(asked, name, { live, settled }, select)
}

/** Money of new installs of the window from the install time on, as `earningsSql` has it: `on, number, money_day` and what rows are of. */
function moneySql(asked: Pick<Asked, 'by' | 'filters' | 'passes' | 'parts' | 'takenMoney'>): string {
  const { by, filters, passes, parts, takenMoney } = asked
  const used = usedBy(by, filters)
  const at = { app_id, days: '{live_earnings:Array(Date)}', ...(takenMoney && { moments: takenMoney }) }
  const live = earningsSql(at, used, `${inWindow} AND ${passes}`)
  const settled = () => settledSql('earnings', 'earned', { app_id, days: '{settled_earnings:Array(Date)}' })
  const select = (sql: string) => `
    SELECT install_day AS on, ${listOf(by)}number, date AS money_day, currency AS code, micros AS amount, age, purchases, paid
    FROM (${sql}
    ) WHERE install_day >= {first_day:Date} AND install_day <= {last_day:Date} AND ${passes}`
  return readSql({ parts }, 'earnings', { live, settled }, select)
}

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

/** Whether a filter is by what frozen counts do not know. */
export const isOfSubs = (filters: ReportFilters): boolean => Object.keys(filters).some((one) => one.startsWith('sub'))

/** Each figure of a part, by its name; other parts have 0. Money is micros times factors, and lists are by `days`. */
const zeros = {
  of_clicks: 'toUInt64(0)',
  fresh: 'toInt64(0)',
  again: 'toInt64(0)',
  of_flagged: 'toInt64(0)',
  bought: 'toUInt64(0)',
  paid_by: 'toUInt64(0)',
  usd: 'toInt256(0)',
  uploads: 'toUInt64(0)',
  spent: 'toInt256(0)',
  came: "CAST([], 'Array(UInt64)')",
  earned: "CAST([], 'Array(Int256)')",
}
type Figures = Partial<Record<keyof typeof zeros, string>>

const partSql = ({ by, group }: Asked, figures: Figures, from: string) => `
  SELECT ${firstDayOf[group]('on')} AS period, ${listOf(by)}${Object.entries(zeros)
    .map(([name, zero]) => `${figures[name as keyof typeof zeros] ?? zero} AS ${name}`)
    .join(', ')}
  FROM ${from}
  GROUP BY period${by.map((one) => `, ${one}`).join('')}`

const arrayOf = (type: string, values: readonly string[]) => `CAST([${values.join(', ')}], 'Array(${type})')`

function partsSql(asked: Asked): string[] {
  const { by, days, passes, hasClicks, hasCosts, factors } = asked
  const campaigns = (name: 'campaigns' | 'clicks') => `(SELECT date AS on, * FROM (${campaignRows(name, asked)}
  ) WHERE ${passes})`
  const installs = partSql(
    asked,
    { fresh: 'sum(installs)', again: 'sum(reinstalls)', of_flagged: 'sum(fraud_flagged)' },
    campaigns('campaigns'),
  )
  // Costs are rows beside those of money, so that factors are joined once.
  const empty = 'toUInt64(0) AS number, toUInt16(0) AS age, toUInt64(0) AS purchases, toUInt8(0) AS paid'
  const earned = `
    SELECT on, ${listOf(by)}money_day, code, amount, toInt64(0) AS micros, number, age, purchases, paid, 0 AS is_cost FROM (${moneySql(asked)})`
  const costs = `
    SELECT on, ${listOf(by)}on AS money_day, code, toInt64(0) AS amount, micros, ${empty}, 1 AS is_cost FROM (${costsSql(passes)})`
  const money = partSql(
    asked,
    {
      bought: `sum(purchases)`,
      paid_by: `uniqExactIf(number, paid = 1 AND factor > 0)`,
      usd: 'sum(amount * factor)',
      earned: arrayOf(
        'Int256',
        days.map((n) => `sumIf(amount * factor, age <= ${Number(n)})`),
      ),
      ...(hasCosts && { uploads: 'sum(is_cost)', spent: 'sum(toInt128(micros) * factor)' }),
    },
    `(${hasCosts ? `${earned} UNION ALL ${costs}` : moneySql(asked)}
    ) AS money
    LEFT JOIN (${factorsSql(factors)}
    ) AS factors USING (money_day, code)`,
  )
  return [
    ...[installs, money],
    ...(days.some((n) => n > 0) ? [retainedPart(asked)] : []),
    ...(hasClicks ? [partSql(asked, { of_clicks: 'sum(clicks)' }, campaigns('clicks'))] : []),
  ]
}

/** Installs that came back, as the report `cohorts` counts them. Day 0 is all installs. */
function retainedPart(asked: Asked): string {
  const { by, passes } = asked
  const pairs = (of: string) => ({ app_id, days: `{${of}_days:Array(Date)}`, numbers: `{${of}_numbers:Array(UInt16)}` })
  const live = retainedSql({ ...pairs('live'), activity_days: '{activity_days:Array(Date)}', moments: passes }, by)
  const settled = () => `${settledCampaignsRetainedSql(pairs('settled'))} WHERE ${passes}`
  const select = (sql: string) => `SELECT date AS on, n, ${listOf(by)}retained FROM (${sql}\n  )`
  const rows = readSql(asked, 'cohorts', { live, settled }, select)
  return partSql(
    asked,
    {
      came: arrayOf(
        'UInt64',
        asked.days.map((n) => (n === 0 ? '0' : `sumIf(retained, n = ${Number(n)})`)),
      ),
    },
    `(${rows})`,
  )
}

/**
 * All rows of all pages, in the order of the report, or one more than it may have. Lists that a part lacks are empty: `sumForEach` adds
 * the others.
 */
export function rowsSql(asked: Asked): string {
  const { by } = asked
  const keys = ['period', ...by].join(', ')
  return `
SELECT toString(period) AS day, ${listOf(by)}sum(of_clicks) AS clicks, sum(fresh) AS installs, sum(again) AS reinstalls,
  sum(of_flagged) AS fraud_flagged, sum(bought) AS purchases, sum(paid_by) AS payers, toString(sum(usd)) AS revenue,
  sum(uploads) AS costs, toString(sum(spent)) AS cost, sumForEach(came) AS retained,
  arrayMap(x -> toString(x), sumForEach(earned)) AS revenues
FROM (${partsSql(asked).join(`
  UNION ALL`)}
)
GROUP BY ${keys}
HAVING clicks != 0 OR installs != 0 OR reinstalls != 0 OR costs != 0
ORDER BY ${keys}
LIMIT ${limits.report_grouped_rows_max + 1}`
}

/** How many groups `groupsSql` counts at most: above it there are too many for sure. */
export const groups_max = 2 * limits.report_grouped_rows_max

/**
 * The number of groups at most, `groups`: those that cancelled verdicts alone have are counted too. It keeps nothing but their keys, and
 * ends at the first one above `groups_max`, where the statement of all rows would end for want of memory.
 */
export function groupsSql(asked: Omit<Asked, 'factors'>): string {
  const { by, group, passes, hasClicks, hasCosts, list } = asked
  const installs = `installs_by_dimensions_v1 WHERE ${inWindow}`
  const parts = [
    `SELECT date AS on, * FROM (${list === null ? `SELECT day AS date, * FROM ${installs}` : campaignRows('campaigns', asked)})`,
    ...(hasClicks ? [`SELECT date AS on, * FROM (${campaignRows('clicks', asked)})`] : []),
    ...(hasCosts ? [costsSql('1')] : []),
  ]
  const keys = parts.map(
    (sql) =>
      `SELECT ${[firstDayOf[group]('on'), ...by.map((one) => `toString(${one})`)].join(', ')} FROM (${sql}) WHERE ${passes}`,
  )
  return `
SELECT count() AS groups FROM (SELECT DISTINCT * FROM (${keys.join(' UNION ALL ')}) LIMIT ${groups_max + 1})`
}

/** Each day with money of a currency that rows sum up, be it 0. */
export const spentSql = ({ passes, hasCosts, ...asked }: Omit<Asked, 'factors'>): string => `
SELECT code AS currency, toString(money_day) AS day
FROM (
  SELECT money_day, code FROM (${moneySql({ ...asked, passes })}
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
