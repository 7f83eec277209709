/** An amount in micros (integer text of any length) as a number rounded to 4 places, halves away from zero. */
export function roundMicros(micros: string): number {
  const amount = BigInt(micros)
  const half = amount < 0n ? -50n : 50n
  return Number((amount + half) / 100n) / 10_000
}
