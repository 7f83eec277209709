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

/** The rates of all amounts of the rows, read at one time. USD needs none. */
export async function findRates(fxRates: FxRates, rows: readonly Money[]): Promise<RateOf> {
  const lookups = new Map<string, FxLookup>()
  for (const { day, money } of rows) {
    for (const [currency] of money) if (currency !== 'USD') lookups.set(`${day}/${currency}`, { day, currency })
  }
  const rateOf = lookups.size > 0 ? await fxRates.find([...lookups.values()]) : () => null
  return (lookup) => (lookup.currency === 'USD' ? usdRates : rateOf(lookup))
}

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

/** A currency, and the first day with money of it. */
export interface SpentCurrency {
  currency: string
  day: string
}

/** The currencies of rows that are ordered by day, ordered by code. */
export function currenciesOf(rows: readonly Money[]): SpentCurrency[] {
  const firstDay = new Map<string, string>()
  for (const { day, money } of rows) {
    for (const [currency] of money) if (!firstDay.has(currency)) firstDay.set(currency, day)
  }
  return [...firstDay]
    .map(([currency, day]) => ({ currency, day }))
    .toSorted((a, b) => (a.currency < b.currency ? -1 : 1))
}

/**
 * The currencies without a rate, in the given order. The first day of each currency is enough: a day without a rate of
 * its own uses the last one before it, so if the first day has a rate, every later day has one too.
 */
export async function missingRates(fxRates: FxRates, spent: readonly SpentCurrency[]): Promise<string[]> {
  const foreign = spent.filter(({ currency }) => currency !== 'USD')
  if (foreign.length === 0) return []
  const rateOf = await fxRates.find(foreign)
  return foreign.filter((lookup) => rateOf(lookup) === null).map(({ currency }) => currency)
}
