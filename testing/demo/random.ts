import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'

/** Draws from a seed: the same seed draws the same. */
export interface Random {
  /** From 0 up to 1. */
  share(): number
  isIn(share: number): boolean
  /** A whole number around a mean (Poisson). */
  count(mean: number): number
  /** With a mean and a tail. */
  exponential(mean: number): number
  oneOf<T>(items: readonly T[]): T
  /** One of the items, by its weight. */
  byWeight<T extends { weight: number }>(items: readonly T[]): T
  /** A UUID of version 4. */
  uuid(): string
}

export function createRandom(seed: number): Random {
  const generator = xoroshiro128plus(seed)
  const share = () => uniformFloat64(generator)
  const count = (mean: number): number => {
    // Knuth's method needs a small mean.
    if (mean > 30) return count(mean / 2) + count(mean / 2)
    const limit = Math.exp(-mean)
    let n = 0
    for (let product = share(); product > limit; product *= share()) n += 1
    return n
  }
  const hex = (chars: number) => Array.from({ length: chars }, () => Math.floor(share() * 16).toString(16)).join('')
  return {
    share,
    count,
    isIn: (part) => share() < part,
    exponential: (mean) => -Math.log(1 - share()) * mean,
    oneOf: (items) => items[Math.floor(share() * items.length)]!,
    byWeight(items) {
      let left = share() * items.reduce((sum, { weight }) => sum + weight, 0)
      for (const item of items) {
        left -= item.weight
        if (left < 0) return item
      }
      return items[0]!
    },
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
  }
}
