import { textLiteral } from '@tributary/clickhouse/literals'
import type { ReportRow } from '@tributary/contracts/reports'
import { cameSince } from '@tributary/tables/settled/sql/grown'
import { countedSql, grownMoneySql, isPurchase, moneyEventsSql } from '@tributary/tables/settled/sql/money'
import type { FxLookup } from '@tributary/tenancy/fx-rates'
import { asLive, findMoneyDays, findSpentRates, type MoneyDay, settledOf } from '../money/find-money.ts'
import { grownDays, readGrown } from '../money/grown-money.ts'
import { type Amount, convertMoney, findRates, firstDays, lookupsOf, type RateOf } from '../money/money.ts'
import { findTakenMoney } from '../money/taken-money.ts'
import { ofPayersSql, splitFilters } from '../of-installs.ts'
import { allRowsSql, queryPage } from '../query-page.ts'
import { filterSql, type Report } from '../report.ts'
import { end_of_days, firstDayOf, windowDays } from '../window-days.ts'
import {
  allLive,
  both,
  daysParams,
  divideDays,
  type FoundDays,
  liveDays,
  momentsOf,
  settledDaysSql,
  settledPaymentsSql,
} from '../window-rows.ts'

/**
 * Money by period and partner (docs/rules.md#revenue-report). It is summed in its own currency, then each row is converted
 * to USD. The rates are looked up first, because whether an install pays depends on them.
 */
export const revenueReport: Report<'revenue'> = async (
  sources,
  { app_id, limit, offset, count_rows, filters, group, ...window },
) => {
  const days = windowDays(window)
  if (days === null) return { rows: [], all_rows: 0, missing_rates: [] }
  const { clickhouse, fxRates } = sources
  const { of_rows, ofVerdicts } = splitFilters(filters)
  const { passes } = filterSql(of_rows)
  const { params: filtered } = filterSql(filters)
  const ofMoney = both(ofPayersSql(ofVerdicts, payingSql), await findTakenMoney(sources, app_id))
  const all_days = await findMoneyDays(sources, { app_id, first_day: days.first_day, last_day: days.last_day })
  const stored = ofMoney === undefined ? all_days : asLive(all_days)
  const isWhole = (day: string) => group === 'day' && day >= days.whole_from && day < days.whole_to
  return readGrown({ sources, app_id, stored, isWhole }, async (money_days, grown) => {
    const settled = settledOf(money_days)
    const found = divideDays('money', days, settled)
    const params = { app_id, ...days, ...daysParams(found), ...grown, ...filtered }
    const hasGrown = grown.grown_days.length > 0
    const live = [...found.live, ...found.edge].filter((day) => !settled.has(day))
    const { rated, missing_rates } = await findSpentRates(sources, app_id, { days: money_days, live }, () =>
      clickhouse.query<FxLookup>(spentSql(found, { hasGrown, passes, ofMoney }), params),
    )
    const rated_from = firstDays(rated)
    const of_page =
      group === 'day' ? withPayments(found, money_days, days.edge_days) : { ...allLive(found), payment_days: [] }
    const requested = { limit, offset, count_rows }
    const sql = pageSql(of_page, { hasGrown, passes, ofMoney }, firstDayOf[group]('date'), allRowsSql(requested))
    const of_statement = {
      ...{ ...params, ...daysParams(of_page), payment_days: of_page.payment_days },
      ...{ currencies: [...rated_from.keys()], rated_from: [...rated_from.values()] },
    }
    const { page, all_rows } = await queryPage<MoneyRow>(clickhouse, sql, of_statement, requested)
    const rateOf = await findRates(fxRates, lookupsOf(page))
    return { rows: page.map((row) => rowOf(row, rateOf)), all_rows, missing_rates }
  })
}

const rowOf = ({ paying, money, ...row }: MoneyRow, rateOf: RateOf): ReportRow<'revenue'> => ({
  ...row,
  revenue_usd: convertMoney(rateOf, money),
  arppu_usd: paying === 0 ? 0 : convertMoney(rateOf, money, paying),
})

/** Days of money. The part of `payment_days` days that is in the window is read from settled payments. */
interface FoundMoney extends FoundDays<'money'> {
  payment_days: readonly string[]
}

/** Settled payments of partly covered days spare the look-up of verdicts (docs/decisions/money.md#payments-of-a-day-are-settled). */
function withPayments(
  found: FoundDays<'money'>,
  money_days: readonly MoneyDay[],
  edge_days: readonly string[],
): FoundMoney {
  const payment_days = money_days
    .filter(({ has_payments, day }) => has_payments && edge_days.includes(day))
    .map(({ day }) => day)
  return { ...found, payment_days, edge: found.edge.filter((day) => !payment_days.includes(day)) }
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

/** Which money is taken: `passes` of rows, `ofMoney` of live money; settled money is read without the latter alone. */
interface Taken {
  hasGrown: boolean
  passes: string
  ofMoney: string | undefined
}

const payingSql = `SELECT install_key FROM revenue_raw_v1
        WHERE app_id = {app_id:String} AND day >= {first_day:Date} AND day <= {last_day:Date}`

/** Each day on which money of a currency counts, be it 0. */
function spentSql({ settled }: FoundDays<'money'>, { hasGrown, passes, ofMoney }: Taken): string {
  // No verdict is looked up where there is no filter.
  const eventsSql = passes === '1' ? countedSql : moneyEventsSql
  const events = [liveDays('money', ofMoney), ...(hasGrown ? [cameSince(grownDays)] : [])].map(
    (at) => `
  SELECT date, code
  FROM (${eventsSql(at)}
  )
  WHERE ${passes}`,
  )
  const settledMoney = `
  SELECT date, currency AS code
  FROM (${settledDaysSql('money', 'money')}
  )
  WHERE ${passes}`
  return `
SELECT code AS currency, toString(date) AS day
FROM (${[...events, ...(settled.length > 0 ? [settledMoney] : [])].join(`
  UNION ALL`)}
)
GROUP BY code, date
ORDER BY code, date`
}

// A currency that has a rate on a day has one on every later day; one without any rate is beyond all days.
const isRated = (currency: string) =>
  `date >= transform(toString(${currency}), {currencies:Array(String)}, {rated_from:Array(Date)}, toDate(${textLiteral(end_of_days)}))`

const nobody = `arrayReduce('uniqExactState', emptyArrayUInt64())`
const pays = `${isPurchase} AND amount > 0 AND ${isRated('code')}`

/**
 * Money and distinct payers of live days, and of what came since days were settled. `payers_before` are counted in the settled day
 * already.
 */
function livePart({ hasGrown, ofMoney }: Taken): string {
  const live = liveDays('money', ofMoney)
  return `
  SELECT date, partner, code, sumIf(amount, is_new) AS micros, countIf(is_new AND amount != 0) AS amounts,
    countIf(is_new AND ${isPurchase}) AS bought, uniqExactStateIf(install_key, ${pays}) AS payers,
    uniqExactStateIf(install_key, NOT is_new AND ${pays}) AS payers_before, toUInt64(0) AS paid
  FROM (${hasGrown ? grownMoneySql(live, grownDays) : `SELECT *, 1 AS is_new FROM (${moneyEventsSql(live)})`}
  )
  GROUP BY date, partner, code`
}

/** The same of settled payments. */
const paymentsPart = `
  SELECT date, partner, code, sum(amount) AS micros, countIf(amount != 0) AS amounts, countIf(${isPurchase}) AS bought,
    uniqExactStateIf(toUInt64(number), ${pays}) AS payers, ${nobody} AS payers_before, toUInt64(0) AS paid
  FROM (
    SELECT date, partner, currency AS code, micros AS amount, event_name, number
    FROM (${settledPaymentsSql('payment_days')}
    )
    WHERE ${momentsOf('money')}
  )
  GROUP BY date, partner, code`

/** The same of settled days: payers by the set of currencies that they paid in. */
const settledParts = `
  SELECT date, partner, currency AS code, micros, amounts, purchases AS bought, ${nobody} AS payers,
    ${nobody} AS payers_before, toUInt64(0) AS paid
  FROM (${settledDaysSql('money', 'money')}
  )
  UNION ALL
  SELECT date, partner, '' AS code, toInt128(0) AS micros, toUInt64(0) AS amounts, toUInt64(0) AS bought, ${nobody} AS payers,
    ${nobody} AS payers_before, if(arrayExists(code -> ${isRated('code')}, currencies), installs, 0) AS paid
  FROM (${settledDaysSql('money', 'payers')}
  )`

function pageSql({ settled, live, edge, payment_days }: FoundMoney, taken: Taken, period: string, allRows: string) {
  const { hasGrown, passes } = taken
  const isLive = live.length > 0 || edge.length > 0
  // The engine plans a statement without empty parts faster.
  const parts = [
    ...(settled.length > 0 || (!isLive && payment_days.length === 0) ? [settledParts] : []),
    ...(isLive || hasGrown ? [livePart(taken)] : []),
    ...(payment_days.length > 0 ? [paymentsPart] : []),
  ]
  return `
SELECT toString(${period}) AS day, partner, sum(bought) AS purchases, uniqExactMerge(payers) - uniqExactMerge(payers_before) + sum(paid) AS paying,
  groupArrayIf((toString(date), code, toString(micros)), amounts > 0) AS money, ${allRows}
FROM (${parts.join(`
  UNION ALL`)}
)
WHERE ${passes}
GROUP BY ${period}, partner
ORDER BY ${period}, partner
LIMIT {limit:UInt32} OFFSET {offset:UInt64}`
}
