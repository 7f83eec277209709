import { hash } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'

/** Installs of which this process took events lately. */
export interface KnownInstalls {
  /** Takes the key of a record of events: `<app_id>/<install_uuid>`. */
  note(key: string): void
  has(key: string): boolean
}

/**
 * Bits of a filter for each install that it holds, and bits that an install sets: two of a thousand unknown installs
 * count as known by mistake.
 */
const bits_per_install = 16
const bits_set = 4

/**
 * Remembers installs in two Bloom filters: a new one for the next `max` installs, and the one before it. It knows them
 * without a look-up in another engine. Mistakes are harmless: they choose a budget (queued-erasures.ts).
 */
export function createKnownInstalls(max: number = limits.known_installs_max): KnownInstalls {
  const bits = max * bits_per_install
  let newest = new Uint32Array(Math.ceil(bits / 32))
  let before = new Uint32Array(newest.length)
  let noted = 0

  function bitsOf(key: string): number[] {
    const digest = hash('sha256', key, 'buffer')
    return Array.from({ length: bits_set }, (_, n) => digest.readUInt32LE(4 * n) % bits)
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
