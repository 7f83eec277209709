import type { EurRates } from '@tributary/contracts/currencies'

/** An amount in one currency and its rates; `usdRates` for USD itself. */
export interface ForeignAmount {
  /** Signed integer text of any length: micros of the currency. */
  micros: string
  rates: EurRates
}

/** USD in USD. */
export const usdRates: EurRates = { usd: '1', units: '1' }

/**
 * The sum in USD, or the part of each of `sharers`, rounded once, at the end, to 4 places, halves away from zero. The
 * arithmetic is exact until then: micros are integers, rates decimals, a division stays a fraction of two integers.
 */
export function sumUsd(amounts: readonly ForeignAmount[], sharers = 1): number {
  let numerator = 0n
  let denominator = 1n
  for (const { micros, rates } of amounts) {
    const usd = decimal(rates.usd)
    const units = decimal(rates.units)
    const over = BigInt(micros) * usd.digits * units.scale
    const under = usd.scale * units.digits
    numerator = numerator * under + over * denominator
    denominator *= under
  }
  return Number(roundedQuotient(numerator, denominator * BigInt(sharers) * 100n)) / 10_000
}

/** `1.25` is 125 / 100. */
function decimal(text: string): { digits: bigint; scale: bigint } {
  const [whole = '', fraction = ''] = text.split('.')
  return { digits: BigInt(whole + fraction), scale: 10n ** BigInt(fraction.length) }
}

/** BigInt division cuts off towards zero, so half of the divisor is put on top before. */
function roundedQuotient(over: bigint, under: bigint): bigint {
  const twice = over * 2n
  return (twice < 0n ? twice - under : twice + under) / (under * 2n)
}
