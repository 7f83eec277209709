import { usdFactor } from '@tributary/domain/money/money-usd'
import type { FxLookup } from '@tributary/tenancy/fx-rates'
import type { RateOf } from './money.ts'

/** ClickHouse takes a parameter of 128 KiB at most (`http_max_field_value_size`); a factor has up to 60 bytes. */
const factors_per_parameter = 1_500

/** The factors of the days and currencies that have a rate, such as `2026-06-01/EUR/10837...`, with commas between, as parameters. */
export function factorsOf(lookups: readonly FxLookup[], rateOf: RateOf): Record<string, string> {
  const factors = lookups.flatMap(({ day, currency }) => {
    const rates = rateOf({ day, currency })
    return rates === null ? [] : [`${day}/${currency}/${usdFactor(rates)}`]
  })
  const once = [...new Set(factors)]
  const params: Record<string, string> = Object.create(null)
  for (let at = 0; at === 0 || at < once.length; at += factors_per_parameter) {
    params[`factors_${at}`] = once.slice(at, at + factors_per_parameter).join(',')
  }
  return params
}

/**
 * SQL of the rows `money_day, code, factor`, of the parameters with these names. They are divided when the statement runs: a thousand
 * constants cost 5 ms of planning wherever they stand.
 */
export const factorsSql = (names: readonly string[]): string => `
    SELECT toDate(factor_of[1]) AS money_day, factor_of[2] AS code, toInt256(factor_of[3]) AS factor
    FROM (
      SELECT splitByChar('/', arrayJoin(splitByChar(',', materialize(concat('', ${names.map((name) => `{${name}:String}`).join(", ',', ")}))))) AS factor_of
    ) WHERE length(factor_of) = 3`
