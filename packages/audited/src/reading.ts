/** Why it is unknown whether an event is missing, or why it can't be replayed (docs/operations.md "Replay"). */
export type UnknownReason =
  | 'app_gone'
  | 'minted_id'
  | 'refused_now'
  | 'unreadable_object'
  | 'unreadable_record'
  | 'without_id'

/** What whoever reads audited events is given of them. */
export interface Reading {
  /** Events that were read. */
  replayed: number
  /** `key`: the audit object, where the reason is of one. */
  doubt(reason: UnknownReason, count?: number, key?: string | null): void
}

/** The same, for whoever reads the whole audit store. */
export interface Progress extends Reading {
  /** `done` of `total` are read; `words` say of what. */
  reached(done: number, total: number, words: string): void
}

/** More than the time for which an audit object gathers requests, ms: one of before midnight may hold some of the day after. */
export const audit_group_ms_max = 60_000
