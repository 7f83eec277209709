import type { FxLookup } from '@tributary/tenancy/fx-rates'
import { findRates, firstDays, type RateOf } from './money.ts'
import type { ReportSources } from './report.ts'
import { daysParams, type FoundDays } from './window-rows.ts'

/** A day and a currency that may have money. */
interface SpentOn extends FxLookup {
  /** 0: none of its money is of installs of the given days. */
  of_installs: 0 | 1
}

/**
 * Days and currencies of the money on the found days, ordered by currency and day. They are cheap to read, and some of them may
 * have no money that counts or none in the window. `install_days` are UTC days of installs.
 */
export function findSpentAtMost(
  { clickhouse }: Pick<ReportSources, 'clickhouse'>,
  app_id: string,
  found: FoundDays<'money'>,
  install_days: readonly string[] = [],
): Promise<SpentOn[]> {
  const sql = `
SELECT code AS currency, toString(date) AS day, max(of_installs) AS of_installs
FROM (
  SELECT day AS date, arrayJoin(arrayDistinct(\`money.currency\`)) AS code,
    hasAny(\`ltv.install_day\`, {spent_install_days:Array(Date)}) AS of_installs
  FROM settled_money_v1 FINAL
  WHERE app_id = {app_id:String} AND day IN {settled_money:Array(Date)}
  UNION ALL
  SELECT day AS date, currency AS code, 1 AS of_installs
  FROM revenue_raw_v1
  WHERE app_id = {app_id:String} AND day IN arrayConcat({live_money:Array(Date)}, {edge_money:Array(Date)})
)
GROUP BY code, date
ORDER BY code, date`
  return clickhouse.query(sql, { app_id, ...daysParams(found), spent_install_days: install_days })
}

export interface SpentRates {
  /** The days and currencies with a rate, ordered by currency and day. */
  rated: FxLookup[]
  rateOf: RateOf
  /** Currencies of money that lacks a rate. */
  missing_rates: string[]
}

/**
 * The rates of money. Only when a day and currency that may have money has no rate, `findSpent` names those that have, ordered by
 * currency and day.
 */
export async function findSpentRates(
  { fxRates }: Pick<ReportSources, 'fxRates'>,
  at_most: readonly FxLookup[],
  findSpent: () => Promise<readonly FxLookup[]>,
): Promise<SpentRates> {
  const rateOf = await findRates(fxRates, at_most)
  const rated = at_most.filter((lookup) => rateOf(lookup) !== null)
  if (rated.length === at_most.length) return { rated, rateOf, missing_rates: [] }
  const spent = await findSpent()
  const rateOfSpent = await findRates(fxRates, spent)
  const missing = firstDays(spent.filter((lookup) => rateOfSpent(lookup) === null))
  return { rated, rateOf, missing_rates: [...missing.keys()] }
}
