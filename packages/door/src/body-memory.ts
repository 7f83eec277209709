import { createShares, type Shares } from '@tributary/service-kit/http/shares'

/** The part of the memory for bodies whose signature is not checked yet. */
const unsigned_part = 1 / 4

/** The bytes that one request keeps in memory, and whose shares they are taken from. */
export interface HeldBytes {
  bytes: number
  /** Whether the sender is known: by a server key, or by a signature that fits. */
  known: boolean
  holders: readonly string[]
}

export interface BodyMemory {
  /** Whether these holders have room for any further byte, in the part of senders that are known or in the other. */
  hasRoom(holders: readonly string[], known: boolean): boolean
  /** Takes `amount` more; false beyond the share of a holder. */
  take(held: HeldBytes, amount: number): boolean
  /** Moves what is held to the shares of a known sender; false beyond the share of a holder. */
  moveToKnown(held: HeldBytes, holders: readonly string[]): boolean
  release(held: HeldBytes): void
}

/**
 * The memory for bodies. Keys of an app are public. A body therefore counts for its address alone until its signature is
 * checked, and all such bodies have a part of the memory of their own: nobody fills the share of an app without its secret.
 */
export function createBodyMemory(bytes_max: number, onChange: (bytes: number) => void): BodyMemory {
  const unsigned = createShares(bytes_max * unsigned_part)
  const known = createShares(bytes_max * (1 - unsigned_part))
  const sharesOf = (held: HeldBytes): Shares => (held.known ? known : unsigned)
  return {
    hasRoom: (holders, is_known) => (is_known ? known : unsigned).fits(holders, 1),
    take(held, amount) {
      if (!sharesOf(held).take(held.holders, amount)) return false
      held.bytes += amount
      onChange(amount)
      return true
    },
    moveToKnown(held, holders) {
      if (!known.take(holders, held.bytes)) return false
      sharesOf(held).give(held.holders, held.bytes)
      held.known = true
      held.holders = holders
      return true
    },
    release(held) {
      sharesOf(held).give(held.holders, held.bytes)
      onChange(-held.bytes)
      held.bytes = 0
    },
  }
}
