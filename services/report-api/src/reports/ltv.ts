import { day_ms } from '@tributary/contracts/limits'
import { daysOf, type ReportRow } from '@tributary/contracts/reports'
import { factoredUsd, usdFactor } from '@tributary/domain/money/money-usd'
import type { FxLookup } from '@tributary/tenancy/fx-rates'
import { findRates, firstDays, type RateOf } from '../money.ts'
import { firstDayOf, installsInWindow, type Report, windowDays } from '../report.ts'
import { countedMoney } from './revenue.ts'

/**
 * Money of the installs of a period since their install (docs/rules.md#ltv-report). The first statement names the days and
 * currencies of that money. The second multiplies each amount by the rate of its day and adds up, since the money of a year
 * is too much to be added here.
 */
export const ltvReport: Report<'ltv'> = async (
  { clickhouse, fxRates },
  { app_id, limit, offset, filters, group, days: asked, ...window },
) => {
  const known = windowDays(window)
  if (known === null) return { rows: [], missing_rates: [] }
  const { partner: partners } = filters
  const named = partners === undefined ? '' : 'AND partner IN {partners:Array(String)}'
  const params = { app_id, ...known, ...(partners && { partners }) }
  const spent = await clickhouse.query<FxLookup>(spentSql(named), params)
  const rateOf = await findRates(fxRates, spent)
  const ns = daysOf('ltv', asked)
  const page = await clickhouse.query<EarnedRow>(pageSql(firstDayOf[group]('date'), named), {
    ...{ ...params, ns, limit, offset },
    ...factorsOf(spent, rateOf),
  })
  const missing = firstDays(spent.filter((lookup) => rateOf(lookup) === null))
  return { rows: page.map((row) => rowOf(row, ns)), missing_rates: [...missing.keys()] }
}

/** The factor of each day and currency that has a rate, as three lists. */
function factorsOf(lookups: readonly FxLookup[], rateOf: RateOf) {
  const rated = lookups.flatMap((lookup) => {
    const rates = rateOf(lookup)
    return rates === null ? [] : [{ ...lookup, factor: usdFactor(rates).toString() }]
  })
  return {
    factor_days: rated.map(({ day }) => day),
    factor_currencies: rated.map(({ currency }) => currency),
    factors: rated.map(({ factor }) => factor),
  }
}

interface EarnedRow {
  day: string
  partner: string
  installs: number
  /** Micros times factors as text, by how many of the asked days are too early for the money. */
  earned: [late: number, usd: string][]
}

function rowOf({ day, partner, installs, earned }: EarnedRow, ns: readonly number[]): ReportRow<'ltv'> {
  const sums = Array.from({ length: ns.length + 1 }, () => 0n)
  for (const [late, usd] of earned) for (let at = late; at < sums.length; at++) sums[at] = sums[at]! + BigInt(usd)
  const columns = ns.map((n, at) => [`d${n}_revenue_usd`, factoredUsd(sums[at]!)])
  const shares = ns.map((n, at) => [`d${n}_arpi_usd`, factoredUsd(sums[at]!, installs)])
  return {
    day,
    partner,
    installs,
    revenue_usd: factoredUsd(sums.at(-1)!),
    ...Object.fromEntries([...columns, ...shares]),
  }
}

/** Installs of the window that are no reinstalls, once each. `named` is a condition on the partner; it may be empty. */
const cohortSql = (named: string) => `
    SELECT day AS date, installed_at_ms AS installed_ms, install_key, partner
    FROM installs_by_day_v1 FINAL
    WHERE ${installsInWindow} AND reinstall = 0 ${named}
    GROUP BY date, installed_ms, install_key, partner
    HAVING sum(sign) > 0`

/** Amounts of these installs from their install on: `age` counts the 24 hours before the amount. */
const earnedSql = (named: string) => `
  SELECT date, partner, money_day, code, intDiv(ts_ms - installed_ms, ${day_ms}) AS age, micros
  FROM (${countedMoney('app_id = {app_id:String} AND day >= {first_day:Date}')}
  ) AS counted
  INNER JOIN (${cohortSql(named)}
  ) AS cohort USING (install_key)
  WHERE ts_ms >= installed_ms AND micros != 0`

/** Each day with such money of a currency. */
const spentSql = (named: string) => `
SELECT code AS currency, toString(money_day) AS day
FROM (${earnedSql(named)}
)
GROUP BY code, money_day
ORDER BY code, money_day`

const pageSql = (period: string, named: string) => `
SELECT toString(${period}) AS day, partner, sum(fresh) AS installs, groupArrayIf((late, toString(usd)), fresh = 0) AS earned
FROM (
  SELECT date, partner, count() AS fresh, toUInt64(0) AS late, toInt256(0) AS usd
  FROM (${cohortSql(named)}
  )
  GROUP BY date, partner
  UNION ALL
  SELECT date, partner, toUInt64(0) AS fresh, arrayCount(n -> n < age, {ns:Array(Int32)}) AS late, sum(micros * factor) AS usd
  FROM (${earnedSql(named)}
  ) AS earned
  INNER JOIN (
    SELECT rate.1 AS money_day, rate.2 AS code, toInt256(rate.3) AS factor
    FROM (SELECT arrayJoin(arrayZip({factor_days:Array(Date)}, {factor_currencies:Array(String)}, {factors:Array(String)})) AS rate)
  ) AS rates USING (money_day, code)
  GROUP BY date, partner, late
)
GROUP BY ${period}, partner
HAVING installs > 0
ORDER BY ${period}, partner
LIMIT {limit:UInt32} OFFSET {offset:UInt64}`
