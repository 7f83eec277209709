/** A user of ClickHouse: a service, or the migrator, who makes all tables and fills them by their views. */
export type TableUser =
  | 'migrator'
  | 'ingest-gateway'
  | 'event-writer'
  | 'click-writer'
  | 'install-attributor'
  | 'install-writer'
  | 'postback-writer'
  | 'postback-forwarder'
  | 'receipt-validator'
  | 'report-api'
  | 'admin-api'
  | 'eraser'
  | 'reconciler'
  | 'replayer'
  | 'retention'
  | 'settler'

/** A table of ClickHouse. Rights, checks, repairs and docs/data.md are made of what it declares. */
export interface Table {
  /** One row is this. */
  row: string
  writers: readonly TableUser[]
  readers: readonly TableUser[]
  /** Columns that hold something of a person: an id, an address, a device, what somebody sent, or a hash of these. */
  personal: readonly string[]
  /** How an erasure takes what belongs to an install out of it. */
  erased_by: ErasedBy
  /** Present where a view fills it. */
  derived?: Derived
  /** Present where no view fills it: its writers make it anew from this table. */
  swept_from?: string
  /** Present where the consumer that writes it brings lost rows back when it reads the log again. */
  reread?: true
  /** Present where a row belongs to no app until it is read, so that `app_id` can't begin the order. */
  of_no_app?: true
  /**
   * Present where the settler works with it: `figures` are worked out again whenever their table is empty, and must be
   * emptied when rows that they were worked out from, or `stamps`, were lost.
   */
  settling?: 'stamps' | 'figures'
  /** Present where the nightly run of retention changes it (docs/privacy.md#retention). */
  retention?: TableRetention
}

/** How retention changes the rows of a table. Values are SQL over its columns. */
export interface TableRetention {
  /** After `keep_ip_days` a row has these values, in which no address and no agent is left. */
  blanked?: {
    /** When the address was received, Unix epoch ms. */
    received_ms: string
    /** The row is not blanked yet. */
    holds: string
    columns: Readonly<Record<string, string>>
  }
  /** Rows of a `day` are deleted when it is older than this setting of the company. */
  deleted_after?: 'keep_click_days' | 'keep_raw_days'
  /** Rows of postbacks that no signature proves are deleted after `limits.postback_unproven_days_max`, of all apps. */
  unproven?: true
}

/**
 * How rows of an install are erased from a table (docs/decisions/erasure.md#an-erasure-is-a-stored-plan):
 * - `look_up`: rows are looked up by install, and deleted by columns that name a row without the id: the engine keeps deletes.
 * - `with`: rows follow those of another table, and are deleted by columns that both have.
 * - `made_again`: a row stands for several of another table; it is deleted, and made again of what remains there.
 * - `counted_raw`: a row stands for several of another table; it is deleted, and reports count what remains there from then on.
 * - `subtracted`: sums stay as they are, and `erased_events_v1` takes the erased off.
 * - `nothing`: no row says anything of one install; the text says why.
 */
export type ErasedBy =
  | { look_up: readonly string[] }
  | { with: string; on: readonly string[] }
  | { made_again: string; on: readonly string[] }
  | { counted_raw: string; on: readonly string[] }
  | { subtracted: true }
  | { nothing: string }

/** The content of a table, derived from the rows that its view reads: tests and repairs count it by brute force. */
export interface Derived {
  from: string
  /** Which rows of `from` it takes; all when absent. */
  where?: string
  /**
   * How a repair finds the rows of a batch that the table already has: by keys, by the number of rows counted of each
   * partition of a log (clickhouse/README.md), by log positions, or not at all (a set: taking a row twice changes nothing).
   */
  known_by: 'keys' | 'counted' | 'positions' | 'set'
  /** SQL of the day of the rows of `from` that it stands for, where that is not its column `day`. */
  day?: string
  /** Columns that distinguish its rows, each with its value in a row of `from`. */
  groups: Readonly<Record<string, string>>
  /** Aggregates of a group that have to be equal: in the table, and over rows of `from`. */
  values?: Readonly<Record<string, readonly [held: string, recounted: string]>>
  /** The same for sums, the number of things counted first: more than there are is counted twice. */
  sums?: Readonly<Record<string, readonly [held: string, recounted: string]>>
}

/** Columns that a view takes over as they are. */
export const same = (...columns: string[]): Record<string, string> =>
  Object.fromEntries(columns.map((column) => [column, column]))
/** Position on the log. */
export const position = same('topic', 'partition', 'offset')
