/** Far above any batch of a consumer: up to here, an insert is one block. */
const insert_rows_max = 100_000_000

/**
 * Settings of every insert, the same on chdb and on a server, written into the statement itself. Defaults moved three
 * times in 18 months, so none is left to the engine. Together they say: the statement is one block, its token alone
 * decides whether it is new, each table and each view decides for itself, and a view that fails fails the insert.
 */
export const insertSettings = {
  async_insert: 0,
  insert_deduplicate: 1,
  deduplicate_insert: 'enable',
  deduplicate_blocks_in_dependent_materialized_views: 1,
  parallel_view_processing: 0,
  materialized_views_ignore_errors: 0,
  // One block: whatever could split or merge rows on their way is off or out of reach.
  input_format_parallel_parsing: 0,
  max_insert_threads: 1,
  max_insert_block_size: insert_rows_max,
  max_insert_block_size_bytes: 0,
  // A view that groups gives up several blocks, in no certain order; they are gathered into one as well, since a
  // repetition shows by token and number of the block.
  min_insert_block_size_rows: insert_rows_max,
  min_insert_block_size_bytes: 0,
  min_insert_block_size_rows_for_materialized_views: insert_rows_max,
  min_insert_block_size_bytes_for_materialized_views: 0,
  input_format_max_block_size_bytes: 0,
  use_strict_insert_block_limits: 0,
  // A batch of clicks may hold days of several months.
  max_partitions_per_insert_block: 0,
  // JSON for a column of text may stand in a line as it is, and is kept byte for byte.
  input_format_json_read_objects_as_strings: 1,
  // Replicated tables: an acknowledged insert is on most replicas, so that no single machine holds the only copy. Plain
  // tables and a single replica ignore it. Quorums of several inserts may be open at once (`parallel`): in turn, a second
  // insert into a table would fail while the first waits, and each writer and partition inserts into all tables.
  insert_quorum: 'auto',
  insert_quorum_parallel: 1,
  insert_quorum_timeout: 20_000,
  // A row that does not fit its table is an error, never a default.
  input_format_null_as_default: 0,
  input_format_allow_errors_num: 0,
  input_format_allow_errors_ratio: 0,
} as const

/** Settings of a statement that copies rows inside the engine, for tables in which a row that is put in again is there once. */
export const copySettings = {
  ...insertSettings,
  ...{ insert_deduplicate: 0, deduplicate_insert: 'disable', max_threads: 1 },
} as const
