import type { EurRates } from '@tributary/contracts/currencies'
import { type ForeignAmount, sumUsd, usdRates } from '@tributary/domain/money/money-usd'
import type { FxLookup, FxRates } from '@tributary/tenancy/fx-rates'

/** Amounts of one UTC day. */
interface Money {
  day: string
  money: readonly (readonly [currency: string, micros: string])[]
}

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
export const lookupsOf = (rows: readonly Money[]): FxLookup[] =>
  rows.flatMap(({ day, money }) => money.map(([currency]) => ({ day, currency })))

/**
 * USD of a row, or the part of each of `sharers`, at the rate of its day or the last rate before it (docs/rules.md#usd).
 * The sum is rounded once, to 4 places. Amounts without a rate add nothing; `missingRates` names their currencies.
 */
export function convertMoney(rateOf: RateOf, { day, money }: Money, sharers = 1): number {
  const amounts = money.flatMap(([currency, micros]): ForeignAmount[] => {
    const rates = rateOf({ day, currency })
    return rates === null ? [] : [{ micros, rates }]
  })
  return sumUsd(amounts, sharers)
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
