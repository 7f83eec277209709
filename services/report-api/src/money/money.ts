import type { EurRates } from '@tributary/contracts/currencies'
import { type ForeignAmount, sumUsd, usdRates } from '@tributary/domain/money/money-usd'
import type { FxLookup, FxRates } from '@tributary/tenancy/fx-rates'

/** Micros of a currency as text, and the UTC day whose rate converts them. */
export type Amount = readonly [day: string, currency: string, micros: string]

/** The rates of a currency on a day; null without any. */
export type RateOf = (lookup: FxLookup) => EurRates | null

/** The rates of some days and currencies, read at one time. USD needs none. */
export async function findRates(fxRates: FxRates, lookups: readonly FxLookup[]): Promise<RateOf> {
  const foreign = new Map<string, FxLookup>()
  for (const { day, currency } of lookups) {
    if (currency !== 'USD') foreign.set(`${day}/${currency}`, { day, currency })
  }
  const rateOf = foreign.size > 0 ? await fxRates.find([...foreign.values()]) : () => null
  return (lookup) => (lookup.currency === 'USD' ? usdRates : rateOf(lookup))
}

/** The days and currencies of the amounts of some rows. */
export const lookupsOf = (rows: readonly { money: readonly Amount[] }[]): FxLookup[] =>
  rows.flatMap(({ money }) => money.map(([day, currency]) => ({ day, currency })))

/**
 * USD of a row, or the part of each of `sharers`, each amount at the rate of its day or the last rate before it
 * (docs/rules.md#usd). The sum is rounded once, to 4 places. Amounts without a rate add nothing; `missingRates` names
 * their currencies.
 */
export function convertMoney(rateOf: RateOf, money: readonly Amount[], sharers = 1): number {
  const amounts = money.flatMap(([day, currency, micros]): ForeignAmount[] => {
    const rates = rateOf({ day, currency })
    return rates === null ? [] : [{ micros, rates }]
  })
  return sumUsd(amounts, sharers)
}

/** The first day of each currency; `spent` is ordered by day in each currency. */
export function firstDays(spent: readonly FxLookup[]): Map<string, string> {
  const first = new Map<string, string>()
  for (const { currency, day } of spent) if (!first.has(currency)) first.set(currency, day)
  return first
}

/**
 * The currencies without a rate, in the given order. The first day of each currency is enough: a day without a rate of
 * its own uses the last one before it, so if the first day has a rate, every later day has one too.
 */
export async function missingRates(fxRates: FxRates, first_days: readonly FxLookup[]): Promise<string[]> {
  const foreign = first_days.filter(({ currency }) => currency !== 'USD')
  if (foreign.length === 0) return []
  const rateOf = await fxRates.find(foreign)
  return foreign.filter((lookup) => rateOf(lookup) === null).map(({ currency }) => currency)
}
