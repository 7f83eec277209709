import { type ForeignAmount, sumUsd, usdRates } from '@tributary/domain/money-usd'
import type { FxAsk } from '@tributary/postgres/fx-rates'
import type { ReportSources } from './report.ts'

/** Money of one UTC day. */
interface Money {
  day: string
  money: readonly (readonly [currency: string, micros: string])[]
}

/**
 * USD of each row, rounded to 4 places at the end (domain/money-usd.ts), at the rate of its day or the last before it.
 * Amounts without a rate bring nothing and are told.
 */
export async function convertMoney({ fxRates, onMissingRate }: ReportSources, rows: readonly Money[]) {
  const asks = new Map<string, FxAsk>()
  for (const { day, money } of rows) {
    for (const [currency] of money) if (currency !== 'USD') asks.set(`${day}/${currency}`, { day, currency })
  }
  const rateOf = asks.size > 0 ? await fxRates.find([...asks.values()]) : () => null
  return rows.map(({ day, money }) => {
    const amounts = money.flatMap(([currency, micros]): ForeignAmount[] => {
      const rates = currency === 'USD' ? usdRates : rateOf({ day, currency })
      if (rates === null) onMissingRate(currency)
      return rates === null ? [] : [{ micros, rates }]
    })
    return sumUsd(amounts)
  })
}
