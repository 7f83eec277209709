import type { LogRecord } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { eventRowColumns } from '@tributary/contracts/rows'
import { type Block, halveBlock } from './cut-blocks.ts'
import { joinLines } from './event-line.ts'
import { type FailedInserts, isPassing } from './failed-inserts.ts'

export interface RefusedRecord {
  record: LogRecord
  /** Rows of it that were not inserted. */
  rows: number
  err: unknown
}

export interface InsertOptions {
  clickhouse: Clickhouse
  /** Of the batch; a block adds its name. */
  token: string
  /** How often the batch was tried, this time included. */
  tries: number
  failed: FailedInserts
  fence(): Promise<void>
}

/**
 * Inserts a block, of which nothing has landed, under a token of its own, and gives back the records that ClickHouse
 * can't take.
 *
 * Rows are made by us from checked events, so an unreadable one means that table and code disagree. It must not hold
 * up its partition for ever, and neither must a block that the engine refuses again and again: it is halved until only
 * single records are left over. An unreadable block never became a block, so it is halved at once; any other is halved
 * before a later try, when the batch was looked up again.
 */
export async function insertBlock(block: Block, options: InsertOptions): Promise<RefusedRecord[]> {
  const { clickhouse, tries, failed } = options
  const token = `${options.token}/${block.name}`
  const repeated = failed.findRepeated(token, halveBlock(block) === null)
  if (repeated !== null) return divide(block, repeated, options)
  await options.fence()
  try {
    const lines = joinLines(block.rows)
    await clickhouse.insert({ table: 'events_raw_v1', columns: eventRowColumns, lines, token, tries })
    return []
  } catch (err) {
    if (isUnreadable(err)) return divide(block, err, options)
    failed.note(token, err)
    throw err
  }
}

async function divide(block: Block, err: unknown, options: InsertOptions): Promise<RefusedRecord[]> {
  const refused: RefusedRecord[] = []
  const halves = halveBlock(block)
  for (const half of halves ?? []) refused.push(...(await insertBlock(half, options)))
  if (halves !== null) return refused
  // A record alone that the engine has no memory for waits until it has.
  if (isPassing(err)) throw err
  return [{ record: block.rows[0]!.record, rows: block.rows.length, err }]
}

/**
 * True only when the input format itself gave up on a row. It says so with the number of the row; when it names the
 * column too, that is all that the HTTP client leaves of the text. An error of a view may carry the same code, but then
 * the table may hold the block already: that one must be repeated as it is.
 */
function isUnreadable(err: unknown): boolean {
  if (!(err instanceof Error) || /while pushing to view/i.test(err.message)) return false
  return /\(at row \d+\)|\(while reading the value of key /.test(err.message)
}
