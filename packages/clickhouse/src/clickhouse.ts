import type { Readable } from 'node:stream'

/** One block for one table. One insert is one block: the same token must always come with the same rows in the same order. */
export interface InsertBlock {
  table: string
  columns: readonly string[]
  /** Lines of JSONCompactEachRow, one row a line, in the order of `columns`. */
  lines: Buffer | string
  /** Idempotency token: a second insert with it changes neither the table nor any view. */
  token: string
  /** Number of this attempt to insert the block, from 1: each may take longer than the one before. */
  attempt?: number
}

/** A statement may be this long; adapters raise the engine's own limit (256 KiB) to it. */
export const statement_bytes_max = 4 * 1024 * 1024

export interface StreamOptions {
  format: 'JSONEachRow' | 'Parquet'
  /** Ends the statement where the engine can do so, and the stream with an error. */
  signal: AbortSignal
}

/** The analytics engine: a ClickHouse server over HTTP, or chdb in this process. */
export interface Clickhouse {
  /** Rows of a SELECT; `params` fill `{name:Type}` placeholders. 64-bit integers come as the SQL says (cast them). */
  query<Row>(sql: string, params?: Record<string, unknown>): Promise<Row[]>
  /**
   * The rows of a SELECT as the engine writes them, in bounded memory: all that was committed before, on every replica.
   * The stream ends only where the answer is whole; else it fails. The statement itself has to bound what it costs.
   */
  stream(sql: string, options: StreamOptions): Promise<Readable>
  insert(block: InsertBlock): Promise<void>
  /**
   * Whether an insert is running whose token begins with this. When an answer got lost, the insert may still run in the engine:
   * rows that are missing now may still come. Every replica of a cluster is queried.
   */
  isInserting(token_prefix: string): Promise<boolean>
  /**
   * DDL and other statements without rows. `isInserting` finds the statement by `name`; `attempt` as for an insert.
   */
  command(sql: string, options?: { name?: string; attempt?: number }): Promise<void>
  checkHealth(): Promise<void>
  close(): Promise<void>
}
