import { organic } from '@tributary/contracts/attribution/verdict'
import { refundEvents } from '@tributary/contracts/rows'
import type { FxLookup } from '@tributary/tenancy/fx-rates'
import { type Amount, convertMoney, findRates, firstDays, lookupsOf } from '../money.ts'
import { firstDayOf, type Report, wholeWindow, windowDays } from '../report.ts'

/**
 * Money by period and partner (docs/rules.md#revenue-report). It is summed in its own currency, then each row is converted
 * to USD. The rates are looked up first, because whether an install pays depends on them.
 */
export const revenueReport: Report<'revenue'> = async (
  { clickhouse, fxRates },
  { app_id, limit, offset, filters, group, ...window },
) => {
  const days = windowDays(window)
  if (days === null) return { rows: [], missing_rates: [] }
  const { partner: partners } = filters
  const params = { app_id, ...days, ...(partners && { partners }) }
  const spent = await clickhouse.query<FxLookup>(spentSql(partners === undefined ? withPartner : ofPartners), params)
  const rateOfSpent = await findRates(fxRates, spent)
  const rated = firstDays(spent.filter((lookup) => rateOfSpent(lookup) !== null))
  const page = await clickhouse.query<MoneyRow>(
    pageSql(firstDayOf[group]('date'), partners === undefined ? withPartner : ofPartners),
    {
      ...{ ...params, limit, offset, refunds: refundEvents },
      ...{ currencies: [...rated.keys()], rated_from: [...rated.values()] },
    },
  )
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

/** Names the same event in `revenue_raw_v1` and `revenue_cancelled_v1`. A hash, because sets of tuples are slow. */
const moneyKey = 'sipHash64(day, topic, partition, offset, event_key)'

/** Events whose money counts, of those that `where` takes. */
export const countedMoney = (where: string) => `
    SELECT day AS money_day, ts_ms, sipHash64(install_uuid) AS install_key, event_name, currency AS code,
      toInt128(amount_micros) AS micros
    FROM revenue_raw_v1
    WHERE ${where}
      AND ${moneyKey} NOT IN (SELECT ${moneyKey} FROM revenue_cancelled_v1 WHERE ${where})`

/** Those of the window. */
const countedSql = countedMoney(wholeWindow)

/** The partner of the newest verdict of each install with money in the window. */
const partnersSql = `
    SELECT install_key, partner AS verdict
    FROM installs_by_day_v1 FINAL
    WHERE app_id = {app_id:String} AND install_key IN (SELECT sipHash64(install_uuid) FROM revenue_raw_v1 WHERE ${wholeWindow})
    GROUP BY install_key, verdict
    HAVING sum(sign) > 0`

/** The counted events with their partner. */
const withPartner = `
  SELECT money_day AS date, if(empty(verdict), '${organic}', verdict) AS partner, install_key, event_name, code, micros
  FROM (${countedSql}
  ) AS counted
  LEFT JOIN (${partnersSql}
  ) AS verdicts USING (install_key)`

/** The same of the filtered partners. */
const ofPartners = `${withPartner}
  WHERE partner IN {partners:Array(String)}`

/** Each day with money of a currency. */
const spentSql = (money: string) => `
SELECT code AS currency, toString(date) AS day
FROM (${money}
)
WHERE micros != 0
GROUP BY code, date
ORDER BY code, date`

// A currency that has a rate on a day has one on every later day; one without any rate is beyond all days.
const pageSql = (period: string, money: string) => `
SELECT toString(${period}) AS day, partner, sum(bought) AS purchases, uniqExactMerge(payers) AS paying,
  groupArrayIf((toString(date), code, toString(amount)), amounts > 0) AS money
FROM (
  SELECT date, partner, code, sum(micros) AS amount, countIf(micros != 0) AS amounts,
    countIf(event_name NOT IN {refunds:Array(String)}) AS bought,
    uniqExactStateIf(install_key, event_name NOT IN {refunds:Array(String)} AND micros > 0 AND date >= rated_from) AS payers
  FROM (
    SELECT *, transform(toString(code), {currencies:Array(String)}, {rated_from:Array(Date)}, toDate('2149-06-06')) AS rated_from
    FROM (${money}
    )
  )
  GROUP BY date, partner, code
)
GROUP BY ${period}, partner
ORDER BY ${period}, partner
LIMIT {limit:UInt32} OFFSET {offset:UInt64}`
