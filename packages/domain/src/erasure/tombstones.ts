/** The tombstones up to a number. Every call with the same number gives the same answers for ever. */
export interface Tombstones {
  /** Number of the newest one; 0 without any. */
  number: number
  /** Whether anything of an app was erased. If not, callers need not look up each id. */
  hasAny(app_id: string): boolean
  /** Whether something of an app was erased and its salt cannot be decrypted: the look-ups below throw for such an app. */
  isLocked(app_id: string): boolean
  /** The greatest mark of an install, Unix epoch ms; null when it was not erased. See `isErased`. */
  markOf(app_id: string, install_uuid: string): number | null
  /**
   * The greatest end of the log in the tombstones of an install: its records below that end are erased. Null if no end
   * was noted.
   */
  logEndOf(app_id: string, install_uuid: string): LogEnd | null
  /** Whether a click was erased, whenever it was received. */
  isErasedClick(app_id: string, click_id: string): boolean
}

/** The end of a partition of a log at a moment. */
export interface LogEnd {
  /** Topic and identity of the log, as in positions; a later log has a greater name. */
  source: string
  /** Offset behind the last record. */
  offset: number
}

/** Whether a position lies below an end of the log of its partition. */
export const isBelow = ({ topic, offset }: { topic: string; offset: number }, end: LogEnd): boolean =>
  topic < end.source || (topic === end.source && offset < end.offset)

/**
 * Tombstones as a consumer pins them (docs/decisions/erasure.md#batches-pin-the-tombstones-that-they-know). Both methods reject while the
 * store cannot be read.
 */
export interface TombstoneStore {
  /** Number of the newest tombstone, read from the store and not from memory; 0 without any. */
  newest(): Promise<number>
  /** The tombstones up to a number that `newest` gave to any process. */
  upTo(number: number): Promise<Tombstones>
}

/** All tombstones so far; none without a store. A batch must use its pinned tombstones instead. */
export const newestTombstones = async (store: TombstoneStore | undefined): Promise<Tombstones> =>
  store === undefined ? noTombstones : store.upTo(await store.newest())

/** The times of a row or record that was made from an event of an install, Unix epoch ms. */
interface MadeOfEvent {
  app_id: string
  install_uuid: string
  received_at_ms: number
  /** `datedAt` of the event; absent if that is not before its receipt. */
  dated_at_ms?: number | undefined
}

/** Whether an erasure covers a row or record that was made from an event, by the rule of `isErased`. */
export const isGone = (
  tombstones: Tombstones,
  { app_id, install_uuid, received_at_ms, dated_at_ms = received_at_ms }: MadeOfEvent,
): boolean =>
  Math.min(received_at_ms, dated_at_ms) <= (tombstones.markOf(app_id, install_uuid) ?? Number.NEGATIVE_INFINITY)

/**
 * Whether an install was erased; false while its app is locked. Use it only for checks where a wrong `false` does no
 * harm.
 */
export const wasErased = (
  tombstones: Tombstones,
  { app_id, install_uuid }: { app_id: string; install_uuid: string },
): boolean => !tombstones.isLocked(app_id) && tombstones.markOf(app_id, install_uuid) !== null

/** The same for a click. */
export const wasClickErased = (
  tombstones: Tombstones,
  { app_id, click_id }: { app_id: string; click_id: string },
): boolean => !tombstones.isLocked(app_id) && tombstones.isErasedClick(app_id, click_id)

/** Reason of the dead letters of a locked app. */
export const salt_unreadable = 'salt_unreadable'

/** Nothing was erased. */
export const noTombstones: Tombstones = {
  number: 0,
  hasAny: () => false,
  isLocked: () => false,
  markOf: () => null,
  logEndOf: () => null,
  isErasedClick: () => false,
}
