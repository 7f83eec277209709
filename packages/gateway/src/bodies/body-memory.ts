import { createShares } from '@tributary/service-kit/http/shares'
import { createUnsignedBodies, type UnsignedBody } from './unsigned-bodies.ts'

/** The part of the memory for bodies whose signature is not checked yet. */
const unsigned_part = 1 / 4

/** The bytes that one request keeps in memory, and the holders in whose shares they count. */
export interface BodyShare extends UnsignedBody {
  /** Whether the sender is known: by a server key, or by a signature that fits. */
  known: boolean
}

export interface BodyMemory {
  /**
   * Whether these holders have room for a further byte, in the part for known senders or in the part for unsigned
   * bodies.
   */
  hasRoom(holders: readonly string[], known: boolean): boolean
  /** Takes `amount` more; false beyond the share of a holder. */
  take(share: BodyShare, amount: number): boolean
  /** The body has arrived whole. */
  pin(share: BodyShare): void
  /** Moves the taken bytes to the shares of a known sender; false beyond the share of a holder. */
  moveToKnown(share: BodyShare, holders: readonly string[]): boolean
  release(share: BodyShare): void
}

/**
 * The memory for bodies. Keys of an app are public. A body therefore counts for its address alone until its signature
 * is checked. All such bodies have a part of the memory of their own. So nobody can fill the share of an app without
 * its secret.
 */
export function createBodyMemory(bytes_max: number, now: () => number, onChange: (bytes: number) => void): BodyMemory {
  const unsigned = createUnsignedBodies(bytes_max * unsigned_part, now)
  const known = createShares(bytes_max * (1 - unsigned_part))
  return {
    hasRoom: (holders, is_known) => (is_known ? known.fits(holders, 1) : unsigned.hasRoom(holders)),
    take(share, amount) {
      if (!share.known && !unsigned.take(share, amount)) return false
      if (share.known && !known.take(share.holders, amount)) return false
      if (share.known) share.bytes += amount
      onChange(amount)
      return true
    },
    pin(share) {
      if (!share.known) unsigned.pin(share)
    },
    moveToKnown(share, holders) {
      const { bytes } = share
      if (!known.take(holders, bytes)) return false
      unsigned.give(share)
      Object.assign(share, { bytes, holders, known: true, evict: null })
      return true
    },
    release(share) {
      onChange(-share.bytes)
      if (share.known) {
        known.give(share.holders, share.bytes)
        share.bytes = 0
      } else unsigned.give(share)
    },
  }
}
