import { createShares } from '@tributary/service-kit/http/shares'
import { createUnsignedBodies, type UnsignedBody } from './unsigned-bodies.ts'

/** The part of the memory for bodies whose signature is not checked yet. */
const unsigned_part = 1 / 4

/** The bytes that one request keeps in memory, and whose shares they are taken from. */
export interface HeldBytes extends UnsignedBody {
  /** Whether the sender is known: by a server key, or by a signature that fits. */
  known: boolean
}

export interface BodyMemory {
  /** Whether these holders have room for any further byte, in the part of senders that are known or in the other. */
  hasRoom(holders: readonly string[], known: boolean): boolean
  /** Takes `amount` more; false beyond the share of a holder. */
  take(held: HeldBytes, amount: number): boolean
  /** The body has arrived whole. */
  pin(held: HeldBytes): void
  /** Moves what is held to the shares of a known sender; false beyond the share of a holder. */
  moveToKnown(held: HeldBytes, holders: readonly string[]): boolean
  release(held: HeldBytes): void
}

/**
 * The memory for bodies. Keys of an app are public. A body therefore counts for its address alone until its signature is
 * checked, and all such bodies have a part of the memory of their own: nobody fills the share of an app without its secret.
 */
export function createBodyMemory(bytes_max: number, now: () => number, onChange: (bytes: number) => void): BodyMemory {
  const unsigned = createUnsignedBodies(bytes_max * unsigned_part, now)
  const known = createShares(bytes_max * (1 - unsigned_part))
  return {
    hasRoom: (holders, is_known) => (is_known ? known.fits(holders, 1) : unsigned.hasRoom(holders)),
    take(held, amount) {
      if (!held.known && !unsigned.take(held, amount)) return false
      if (held.known && !known.take(held.holders, amount)) return false
      if (held.known) held.bytes += amount
      onChange(amount)
      return true
    },
    pin(held) {
      if (!held.known) unsigned.pin(held)
    },
    moveToKnown(held, holders) {
      const { bytes } = held
      if (!known.take(holders, bytes)) return false
      unsigned.give(held)
      Object.assign(held, { bytes, holders, known: true, evict: null })
      return true
    },
    release(held) {
      onChange(-held.bytes)
      if (held.known) {
        known.give(held.holders, held.bytes)
        held.bytes = 0
      } else unsigned.give(held)
    },
  }
}
