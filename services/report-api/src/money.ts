import { type ForeignAmount, sumUsd, usdRates } from '@tributary/domain/money/money-usd'
import type { FxLookup, FxRates } from '@tributary/tenancy/fx-rates'

/** Amounts of one UTC day. */
interface Money {
  day: string
  money: readonly (readonly [currency: string, micros: string])[]
}

/**
 * USD of each row, at the rate of its day or the last rate before it (docs/rules.md#usd). Each sum is rounded once, to
 * 4 places. Amounts without a rate add nothing; `missingRates` names their currencies.
 */
export async function convertMoney(fxRates: FxRates, rows: readonly Money[]): Promise<number[]> {
  const lookups = new Map<string, FxLookup>()
  for (const { day, money } of rows) {
    for (const [currency] of money) if (currency !== 'USD') lookups.set(`${day}/${currency}`, { day, currency })
  }
  const rateOf = lookups.size > 0 ? await fxRates.find([...lookups.values()]) : () => null
  return rows.map(({ day, money }) => {
    const amounts = money.flatMap(([currency, micros]): ForeignAmount[] => {
      const rates = currency === 'USD' ? usdRates : rateOf({ day, currency })
      return rates === null ? [] : [{ micros, rates }]
    })
    return sumUsd(amounts)
  })
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
