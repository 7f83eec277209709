import type { LogRecord } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { FailedInserts } from '@tributary/clickhouse/failed-inserts'
import { insertDivided } from '@tributary/clickhouse/insert-divided'
import { storedEventColumns } from '@tributary/contracts/rows'
import { type Block, halveBlock } from './cut-blocks.ts'
import { joinLines } from './event-line.ts'

export interface RefusedRecord {
  record: LogRecord
  /** Rows of the record that were not inserted. */
  rows: number
  err: unknown
}

export interface InsertOptions {
  clickhouse: Clickhouse
  /** Token of the batch; a block adds its name. */
  token: string
  /** How often the batch was tried, this time included. */
  attempt: number
  /** When the rows count as stored. */
  stored_at_ms: number
  failed: FailedInserts
  fence(): Promise<void>
}

/**
 * Inserts a block under a token of its own, and returns the records that ClickHouse can't take. No row of the block may
 * be written yet.
 */
export async function insertBlock(
  block: Block,
  { clickhouse, token: batch_token, attempt, stored_at_ms, failed, fence }: InsertOptions,
): Promise<RefusedRecord[]> {
  const refused = await insertDivided(block, {
    failed,
    tokenOf: ({ name }) => `${batch_token}/${name}`,
    halve: halveBlock,
    async insert({ rows }, token) {
      await fence()
      const lines = joinLines(rows, stored_at_ms)
      await clickhouse.insert({ table: 'events_raw_v1', columns: storedEventColumns, lines, token, attempt })
    },
  })
  return refused.map(({ block: { rows }, err }) => ({ record: rows[0]!.record, rows: rows.length, err }))
}
