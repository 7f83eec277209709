/** An install of an app. */
export interface InstallOfApp {
  app_id: string
  install_uuid: string
}

/** An entry that a slice took. */
export interface TakenRedecision extends InstallOfApp {
  /** Number of the newest reason when the entry was taken. */
  reason_number: string
}

/** Entries that are decided together, by the owner of a partition of `installs.found.v1`. */
export interface Slice {
  partition: number
  /** Differs for each try of each batch. */
  name: string
}

/** What waits in a list. */
export interface Backlog {
  count: number
  /** How long the oldest entry has waited, in whole milliseconds; null when the list is empty. */
  oldest_ms: number | null
}

/**
 * The durable list of installs that are decided again (docs/attribution.md#re-decisions). An install has one entry however many
 * reasons there are, and each reason gives the entry a number that was never used before.
 */
export interface RedecisionList {
  /** Durable when it resolves. Call it before the commit of what gave the reason, and behind all evidence of it. */
  add(installs: readonly InstallOfApp[]): Promise<void>
  /**
   * Takes up to `max` entries of a partition for a slice: first those that an earlier slice took and did not finish, all
   * of them, then the oldest of each app, the apps in fair turns. The cost does not grow with the length of the list.
   */
  take(slice: Slice, max: number): Promise<TakenRedecision[]>
  /**
   * Removes the entries that a slice has decided, but those that have another number by now, and gives the others of the
   * slice free: those that were decided behind the others of their app. Changes nothing of entries that a later slice took. Resolves to whether the partition has entries left.
   */
  finish(slice: Slice, decided: readonly TakenRedecision[]): Promise<boolean>
  /** Partitions that have entries. */
  partitions(): Promise<number[]>
  /** Up to `max` apps of a partition that have entries, in their order, from the one behind `after` on. */
  apps(partition: number, after: string, max: number): Promise<string[]>
  backlog(): Promise<Backlog>
}
