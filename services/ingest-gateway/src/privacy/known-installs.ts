import { hash } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'

/** Installs of which this process took events lately. */
export interface KnownInstalls {
  /** Takes the key of a record of events: `<app_id>/<install_uuid>`. */
  note(key: string): void
  has(key: string): boolean
}

/**
 * Bits of a filter for each install that it holds. An install sets four: two of a thousand unknown installs count as
 * known by mistake.
 */
const bits_per_install = 16

/**
 * Remembers installs in two Bloom filters: a new one for the next `max` installs, and the one before it. It knows them
 * without a look-up in another engine. Mistakes are harmless: they choose a budget (queued-erasures.ts).
 */
export function createKnownInstalls(max: number = limits.known_installs_max): KnownInstalls {
  const bits = max * bits_per_install
  let newest = new Uint32Array(Math.ceil(bits / 32))
  let before = new Uint32Array(newest.length)
  let noted = 0

  /** Two parts of a digest make up all bits (Kirsch and Mitzenmacher, "Less hashing, same performance", 2006). */
  function bitsOf(key: string): number[] {
    const digest = hash('sha256', key)
    const first = Number.parseInt(digest.slice(0, 8), 16)
    const step = Number.parseInt(digest.slice(8, 16), 16)
    return [first % bits, (first + step) % bits, (first + 2 * step) % bits, (first + 3 * step) % bits]
  }
  const holds = (filter: Uint32Array, bits: readonly number[]) =>
    bits.every((bit) => (filter[bit >>> 5]! & (1 << (bit & 31))) !== 0)

  return {
    note(key) {
      const bits = bitsOf(key)
      if (holds(newest, bits)) return
      if (noted >= max) {
        const oldest = before
        before = newest
        newest = oldest.fill(0)
        noted = 0
      }
      noted += 1
      for (const bit of bits) newest[bit >>> 5]! |= 1 << (bit & 31)
    },
    has(key) {
      const bits = bitsOf(key)
      return holds(newest, bits) || holds(before, bits)
    },
  }
}
