import { refundEvents } from '@tributary/contracts/rows'
import { moneyEventsSql } from '@tributary/settled/money-events'
import type { FxLookup } from '@tributary/tenancy/fx-rates'
import { type Amount, convertMoney, findRates, firstDays, lookupsOf } from '../money.ts'
import type { Report } from '../report.ts'
import { firstDayOf, windowDays } from '../window-days.ts'
import { daysParams, type FoundDays, findDays, momentsOf, windowSql } from '../window-rows.ts'

/**
 * Money by period and partner (docs/rules.md#revenue-report). It is summed in its own currency, then each row is converted
 * to USD. The rates are looked up first, because whether an install pays depends on them.
 */
export const revenueReport: Report<'revenue'> = async (
  sources,
  { app_id, limit, offset, filters, group, ...window },
) => {
  const { clickhouse, fxRates } = sources
  const days = windowDays(window)
  if (days === null) return { rows: [], missing_rates: [] }
  const { partner: partners } = filters
  const named = partners === undefined ? '1' : 'partner IN {partners:Array(String)}'
  const found = await findDays(sources, 'money', app_id, days)
  const params = { app_id, ...days, ...daysParams(found), ...(partners && { partners }) }
  const spent = await clickhouse.query<FxLookup>(spentSql(found, named), params)
  const rateOfSpent = await findRates(fxRates, spent)
  const rated = firstDays(spent.filter((lookup) => rateOfSpent(lookup) !== null))
  const period = firstDayOf[group]('date')
  const payers = group === 'day' ? payersOfDays(found) : payersOfPeriods(period)
  const page = await clickhouse.query<MoneyRow>(pageSql(found, period, payers, named), {
    ...{ ...params, limit, offset, refunds: refundEvents },
    ...{ currencies: [...rated.keys()], rated_from: [...rated.values()] },
  })
  const rateOf = await findRates(fxRates, lookupsOf(page))
  const rows = page.map(({ paying, money, ...row }) => ({
    ...row,
    revenue_usd: convertMoney(rateOf, money),
    arppu_usd: paying === 0 ? 0 : convertMoney(rateOf, money, paying),
  }))
  const missing = firstDays(spent.filter((lookup) => rateOfSpent(lookup) === null))
  return { rows, missing_rates: [...missing.keys()] }
}

interface MoneyRow {
  day: string
  partner: string
  purchases: number
  /** Installs with a payment above 0 that has a rate. */
  paying: number
  /** Each UTC day and currency with amounts other than 0. */
  money: Amount[]
}

/** Each day with money of a currency. `named` is a condition on the partner. */
const spentSql = (found: FoundDays<'money'>, named: string) => `
SELECT code AS currency, toString(date) AS day
FROM (SELECT date, partner, currency AS code, amounts FROM (${windowSql(found, 'money')}
))
WHERE amounts > 0 AND ${named}
GROUP BY code, date
ORDER BY code, date`

// A currency that has a rate on a day has one on every later day; one without any rate is beyond all days.
const isRated = (currency: string) =>
  `date >= transform(toString(${currency}), {currencies:Array(String)}, {rated_from:Array(Date)}, toDate('2149-06-06'))`

/** Paying installs by day, from counts of those that paid in the same currencies. */
const payersOfDays = (found: FoundDays<'money'>) => `
  SELECT date AS on, partner, sumIf(installs, arrayExists(code -> ${isRated('code')}, currencies)) AS payers
  FROM (${windowSql(found, 'payers')}
  )
  GROUP BY on, partner`

/** Paying installs of longer periods are no sums of days: they are counted among the events. */
const payersOfPeriods = (period: string) => `
  SELECT ${period} AS on, partner, uniqExact(install_key) AS payers
  FROM (${moneyEventsSql({
    app_id: '{app_id:String}',
    days: 'arrayConcat({settled_money:Array(Date)}, {live_money:Array(Date)}, {edge_money:Array(Date)})',
    moments: momentsOf('money'),
  })}
  )
  WHERE event_name NOT IN {refunds:Array(String)} AND amount > 0 AND ${isRated('code')}
  GROUP BY on, partner`

const pageSql = (found: FoundDays<'money'>, period: string, payers: string, named: string) => `
SELECT toString(on) AS day, partner, sum(bought) AS purchases, sum(payers) AS paying,
  groupArrayIf((toString(money_day), code, toString(amount)), has_amounts) AS money
FROM (
  SELECT ${period} AS on, partner, date AS money_day, currency AS code, micros AS amount, amounts > 0 AS has_amounts,
    purchases AS bought, toUInt64(0) AS payers, 1 AS is_money
  FROM (${windowSql(found, 'money')}
  )
  UNION ALL
  SELECT on, partner, on AS money_day, '' AS code, toInt128(0) AS amount, 0 AS has_amounts, 0 AS bought, payers, 0 AS is_money
  FROM (${payers}
  )
)
WHERE ${named}
GROUP BY on, partner
HAVING max(is_money) = 1
ORDER BY on, partner
LIMIT {limit:UInt32} OFFSET {offset:UInt64}`
