/** Random numbers that repeat for the same seed and request. */
export interface Random {
  /** A number from 0 to below 1. */
  next(): number
  /** An integer from 0 to below `n`. */
  below(n: number): number
  chance(share: number): boolean
  pick<Item>(items: readonly Item[]): Item
  hex(chars: number): string
}

/** The random numbers of request `n` of a run. They depend only on `seed` and `n`. */
export function randomOf(seed: number, n: number): Random {
  let state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(n + 1, 0x85ebca6b)) >>> 0
  const next = () => {
    // splitmix32
    state = (state + 0x9e3779b9) >>> 0
    let mixed = state ^ (state >>> 16)
    mixed = Math.imul(mixed, 0x21f0aaad)
    mixed ^= mixed >>> 15
    mixed = Math.imul(mixed, 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
  const below = (n: number) => Math.floor(next() * n)
  return {
    next,
    below,
    chance: (share) => next() < share,
    pick: (items) => items[below(items.length)]!,
    hex: (chars) => Array.from({ length: chars }, () => below(16).toString(16)).join(''),
  }
}
