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
 * The sum in USD, or the part of each of `sharers`. It is rounded once, at the end, to 4 places, halves away from zero.
 * The arithmetic is exact until then: micros are integers, rates are decimals, and a division stays a fraction of two
 * integers.
 */
export function sumUsd(amounts: readonly ForeignAmount[], sharers = 1): number {
  const { over, under } = sumOf(amounts, 0, amounts.length)
  return Number(roundedQuotient(over, under * BigInt(sharers) * 100n)) / 10_000
}

interface Fraction {
  over: bigint
  under: bigint
}

/** The exact sum of some neighbours. The two halves are summed apart, so most additions are of short numbers. */
function sumOf(amounts: readonly ForeignAmount[], from: number, to: number): Fraction {
  if (from === to) return { over: 0n, under: 1n }
  if (to - from === 1) return fractionOf(amounts[from]!)
  const middle = Math.floor((from + to) / 2)
  const [a, b] = [sumOf(amounts, from, middle), sumOf(amounts, middle, to)]
  if (a.under === b.under) return { over: a.over + b.over, under: a.under }
  return { over: a.over * b.under + b.over * a.under, under: a.under * b.under }
}

function fractionOf({ micros, rates }: ForeignAmount): Fraction {
  const usd = decimal(rates.usd)
  const units = decimal(rates.units)
  return { over: BigInt(micros) * usd.digits * units.scale, under: usd.scale * units.digits }
}

/** A factor is an integer of 10^-40 USD for one unit of a currency. */
const factor_scale = 10n ** 40n
/** Factors are cut off, so a sum of up to 10^26 micros errs by less than this. */
const factor_error = 10n ** 26n

/** The factor for micros of a currency if an engine adds many of them up; `factoredUsd` rounds the sum. */
export function usdFactor(rates: EurRates): bigint {
  const usd = decimal(rates.usd)
  const units = decimal(rates.units)
  return (factor_scale * usd.digits * units.scale) / (usd.scale * units.digits)
}

/**
 * The USD of a sum of micros times factors, or the part of each of `sharers`, rounded as `sumUsd` does. A sum that is
 * nearer to a half than the error of factors counts as the half: rates have few digits, so no other sum can be that
 * near.
 */
export function factoredUsd(sum: bigint, sharers = 1): number {
  const surely = sum < 0n ? sum - factor_error : sum + factor_error
  return Number(roundedQuotient(surely, factor_scale * BigInt(sharers) * 100n)) / 10_000
}

/** One such sum by another one above 0, rounded to 4 places like these. */
export function factoredRatio(sum: bigint, by: bigint): number {
  const surely = sum < 0n ? sum - factor_error : sum + factor_error
  return Number(roundedQuotient(surely * 10_000n, by)) / 10_000
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
