import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { FailedInserts } from '@tributary/clickhouse/failed-inserts'
import { CodedError } from '@tributary/contracts/errors'
import type { Batch } from '@tributary/service-kit/consumer/define-consumer'
import type { KnownKey } from '@tributary/tables/events/drop-duplicates'
import type { Logger } from 'pino'
import { type Block, cutBlocks } from './cut-blocks.ts'
import type { EventLine } from './event-line.ts'
import { insertBlock, type RefusedRecord } from './insert-rows.ts'
import { completeRows, countedRows, findLanded } from './written-rows.ts'

/** What the event-writer keeps with its offset: rows that it wrote of a partition since its log began. */
export interface WriterState {
  rows: number
}

export const stateOf = (kept: unknown): WriterState =>
  typeof kept === 'object' && kept !== null && 'rows' in kept ? { rows: Number(kept.rows) } : { rows: 0 }

export interface WriteDeps {
  clickhouse: Clickhouse
  failed: FailedInserts
  logger?: Logger
}

/**
 * Puts the rows of a batch into every table, each once, and gives back the records that ClickHouse can't take.
 *
 * A first try inserts block after block. A repeated try trusts no token, because the engine may have forgotten it. It
 * looks up the rows that are there, completes them in every table, and inserts the rest. Blocks are inserted one after
 * the other, so the written rows are always the first part of the batch. No insert of the batch was running any more
 * when `keys` were looked up.
 */
export async function writeBatch(
  deps: WriteDeps,
  batch: Batch<EventLine[]>,
  rows: readonly EventLine[],
  keys: readonly KnownKey[],
): Promise<RefusedRecord[]> {
  const blocks = cutBlocks(rows)
  if (batch.attempt === 1) return insertAll(deps, batch, blocks)
  const ordered = blocks.flatMap((block) => block.rows)
  const landed = new Set(await completeLanded(deps.clickhouse, batch, ordered, keys))
  const missing = ordered.filter((row) => !landed.has(row))
  const refused = await insertAll(deps, batch, cutBlocks(missing))
  await reportIgnored(deps, batch, missing, refused)
  return refused
}

/** A table lost committed rows, so it is unknown which rows of this batch it lacks. */
class TablesDifferError extends Error {
  override name = 'TablesDifferError'
}

/** The rows of a batch that `events_raw_v1` holds already; every other table has them too when this resolves. */
async function completeLanded(
  clickhouse: Clickhouse,
  batch: Batch<EventLine[]>,
  rows: readonly EventLine[],
  keys: readonly KnownKey[],
): Promise<EventLine[]> {
  const { source, partition, token, attempt, fence } = batch
  const landed = await findLanded(clickhouse, rows, batch)
  await completeRows(landed, {
    ...{ clickhouse, range: batch, token, attempt, fence },
    keys: keys.filter((key) => key.topic === source && key.partition === partition),
    async countHeld(table) {
      const counted = (await countedRows(clickhouse, table, batch)) - stateOf(batch.state).rows
      if (counted < 0) throw new TablesDifferError(`${table} lacks ${-counted} rows of earlier batches`)
      return counted
    },
  })
  return landed
}

/** Rejects while an insert or a fill whose token begins so runs in the engine: missing rows may still come. */
export async function refuseWhileInserting(clickhouse: Clickhouse, token_prefix: string): Promise<void> {
  if (!(await clickhouse.isInserting(token_prefix))) return
  throw new CodedError('unavailable', { message: 'an earlier insert is still at work' })
}

async function insertAll({ clickhouse, failed }: WriteDeps, batch: Batch<EventLine[]>, blocks: readonly Block[]) {
  const { token, attempt, stored_at_ms, fence } = batch
  const refused: RefusedRecord[] = []
  for (const block of blocks) {
    refused.push(...(await insertBlock(block, { clickhouse, token, attempt, stored_at_ms, failed, fence })))
  }
  return refused
}

/**
 * A server with plain tables that was killed may know the token of a block that it does not have
 * (docs/decisions/writing.md#the-deduplication-log-is-repaired-at-each-start): the insert is ignored. That must not go
 * unnoticed.
 */
async function reportIgnored(
  { clickhouse, logger }: WriteDeps,
  batch: Batch<EventLine[]>,
  inserted: readonly EventLine[],
  refused: readonly RefusedRecord[],
): Promise<void> {
  if (inserted.length === 0) return
  const there = new Set(await findLanded(clickhouse, inserted, batch))
  const dead = new Set(refused.map(({ record }) => record))
  const ignored = inserted.filter((row) => !there.has(row) && !dead.has(row.record))
  if (ignored.length === 0) return
  const { source, partition, from, to } = batch
  logger?.error(
    { source, partition, from, to, rows: ignored.length },
    'ClickHouse ignored rows that it does not have: run `tributary rebuild`, then `tributary replay --from-log`',
  )
}
