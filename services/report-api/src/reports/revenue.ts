import { organic } from '@tributary/contracts/attribution/verdict'
import { refundEvents } from '@tributary/contracts/rows'
import { convertMoney, currenciesOf, findRates, missingRates, type RateOf, type SpentCurrency } from '../money.ts'
import { type Report, type ReportSources, wholeWindow, windowDays } from '../report.ts'

/**
 * Money by day and partner (docs/rules.md#revenue-report). It is summed in its own currency, then each row is converted
 * to USD. Paying installs are counted last, for the rows of the page, because that needs the rates.
 */
export const revenueReport: Report<'revenue'> = async (sources, { app_id, limit, offset, filters, ...window }) => {
  const { clickhouse, fxRates } = sources
  const days = windowDays(window)
  if (days === null) return { rows: [], missing_rates: [] }
  const { partner } = filters
  const params = { app_id, ...days, refunds: refundEvents, ...(partner && { partners: partner }) }
  const money = moneySql(partner === undefined ? '' : 'WHERE partner IN {partners:Array(String)}')
  const page = await clickhouse.query<MoneyRow>(pageSql(money), { ...params, limit, offset })
  const rateOf = await findRates(fxRates, page)
  const payers = await queryPayers(clickhouse, money, params, page, rateOf)
  const isWhole = offset === 0 && page.length < limit
  const spent = isWhole ? currenciesOf(page) : await clickhouse.query<SpentCurrency>(currenciesSql(money), params)
  const rows = page.map((row) => {
    const paying = payers.get(keyOf(row)) ?? 0
    return {
      ...{ day: row.day, partner: row.partner, purchases: row.purchases },
      revenue_usd: convertMoney(rateOf, row),
      arppu_usd: paying === 0 ? 0 : convertMoney(rateOf, row, paying),
    }
  })
  return { rows, missing_rates: await missingRates(fxRates, spent) }
}

interface MoneyRow {
  day: string
  partner: string
  purchases: number
  /** Currency and micros as text, for each currency with an amount other than 0. */
  money: [currency: string, micros: string][]
}

const keyOf = ({ day, partner }: Pick<MoneyRow, 'day' | 'partner'>): string => `${day}/${partner}`

/** Events whose money counts, by day, install and currency: those that were cancelled are taken off. */
const countedSql = `
    SELECT date, install_key, code, sum(sign) AS events, sum(sign * micros) AS amount,
      sumIf(sign, micros != 0) AS amounts, sumIf(sign, event_name NOT IN {refunds:Array(String)}) AS purchases,
      sumIf(sign, event_name NOT IN {refunds:Array(String)} AND micros > 0) AS payments
    FROM (
      SELECT day AS date, sipHash64(install_uuid) AS install_key, currency AS code, event_name,
        toInt128(amount_micros) AS micros, toInt8(1) AS sign
      FROM revenue_raw_v1
      WHERE ${wholeWindow}
      UNION ALL
      SELECT day AS date, sipHash64(install_uuid) AS install_key, currency AS code, event_name,
        toInt128(amount_micros) AS micros, toInt8(-1) AS sign
      FROM revenue_cancelled_v1 FINAL
      WHERE ${wholeWindow}
    )
    GROUP BY date, install_key, code
    HAVING events > 0`

/** The partner of the newest verdict of each install with money in the window. */
const partnersSql = `
    SELECT install_key, partner AS verdict
    FROM installs_by_day_v1 FINAL
    WHERE app_id = {app_id:String} AND install_key IN (SELECT sipHash64(install_uuid) FROM revenue_raw_v1 WHERE ${wholeWindow})
    GROUP BY install_key, verdict
    HAVING sum(sign) > 0`

/** The counted events with their partner. `named` is a condition on the partner; it may be empty. */
const moneySql = (named: string) => `
  SELECT date, if(empty(verdict), '${organic}', verdict) AS partner, install_key, code, events, amount, amounts, purchases,
    payments
  FROM (${countedSql}
  ) AS counted
  LEFT JOIN (${partnersSql}
  ) AS verdicts USING (install_key)
  ${named}`

const pageSql = (money: string) => `
SELECT toString(date) AS day, partner, sum(bought) AS purchases,
  groupArrayIf((code, toString(total)), spent > 0) AS money
FROM (
  SELECT date, partner, code, sum(purchases) AS bought, sum(amount) AS total, sum(amounts) AS spent
  FROM (${money}
  )
  GROUP BY date, partner, code
)
GROUP BY date, partner
ORDER BY date, partner
LIMIT {limit:UInt32} OFFSET {offset:UInt64}`

/** The currencies with money on any page. */
const currenciesSql = (money: string) => `
SELECT code AS currency, toString(min(date)) AS day
FROM (${money}
)
WHERE amounts > 0
GROUP BY currency
ORDER BY currency`

/** Installs of the rows of a page with a payment above 0 that has a rate, by `keyOf` the row. */
async function queryPayers(
  clickhouse: ReportSources['clickhouse'],
  money: string,
  params: object,
  page: readonly MoneyRow[],
  rateOf: RateOf,
): Promise<Map<string, number>> {
  const rated = currenciesOf(
    page.map(({ day, money }) => ({ day, money: money.filter(([currency]) => rateOf({ day, currency }) !== null) })),
  )
  const first = page[0]
  const last = page.at(-1)
  if (first === undefined || last === undefined || rated.length === 0) return new Map()
  const rows = await clickhouse.query<Pick<MoneyRow, 'day' | 'partner'> & { payers: number }>(payersSql(money), {
    ...params,
    ...{ first_day: first.day, first_partner: first.partner, last_day: last.day, last_partner: last.partner },
    // A currency that has a rate on a day has one on every later day.
    ...{ currencies: rated.map(({ currency }) => currency), rated_from: rated.map(({ day }) => day) },
  })
  return new Map(rows.map((row) => [keyOf(row), row.payers]))
}

// Rows are ordered by day and partner, so a page is one range of both.
const payersSql = (money: string) => `
SELECT toString(date) AS day, partner, count() AS payers
FROM (
  SELECT date, partner, install_key
  FROM (${money}
  )
  WHERE payments > 0
    AND date >= transform(toString(code), {currencies:Array(String)}, {rated_from:Array(Date)}, toDate('2149-06-06'))
    AND (date > {first_day:Date} OR partner >= {first_partner:String})
    AND (date < {last_day:Date} OR partner <= {last_partner:String})
  GROUP BY date, partner, install_key
)
GROUP BY date, partner`
