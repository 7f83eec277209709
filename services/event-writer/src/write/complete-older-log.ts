import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Batch } from '@tributary/service-kit/consumer/define-consumer'
import { findEventKeys } from '@tributary/tables/events/event-keys'
import type { Logger } from 'pino'
import { keysToLookUp, type RowKey } from './drop-duplicates.ts'
import { completeRows, countedRows } from './written-rows.ts'

type NewLog = Pick<Batch<unknown>, 'topic' | 'source' | 'partition' | 'token' | 'attempt' | 'fence'>

/** The last block of a log that `events_raw_v1` has rows of. */
interface LastBlock {
  source: string
  /** Rows written of the partition since the log began, those of the block included; 0 when nobody noted it. */
  log_rows: number
  /** The same of the newest block before it that has rows; 0 if there is none. */
  before: number
}

/**
 * Completes what the log before left half-done in a partition, before the first batch of a new one: its open batch is not
 * known any more, and events without keys would not be found as duplicates. The logs before that one were completed when
 * it was begun. Only the last block of a log can be half-done. Its rows say how many the log had with them, and counters how many
 * a table took in, so that the tables alone tell what each lacks, whatever has failed and whatever was erased or has expired
 * (docs/adr/0103). No insert of an older log may be at work any more.
 */
export async function completeOlderLog(clickhouse: Clickhouse, at: NewLog, logger?: Logger): Promise<void> {
  const last = await findLastBlock(clickhouse, at)
  if (last === undefined) return
  const { partition, attempt, fence } = at
  const { source, log_rows, before } = last
  logger?.warn(
    { partition, source: at.source, older: source },
    'a new log is begun beside tables of older ones: what these held unwritten is in the audit store alone, see `tributary replay --from-audit --dry-run`',
  )
  if (log_rows === 0) {
    logger?.error({ partition, source }, 'what tables lack of an older log is not known: run `tributary rebuild`')
    return
  }
  const rows = await readBlock(clickhouse, last, partition)
  // Retention and the eraser go on meanwhile.
  if (rows.length === 0) return
  const known = await findEventKeys(clickhouse, keysToLookUp(rows))
  await completeRows(rows, {
    ...{ clickhouse, attempt, fence },
    range: { source, partition, from: rows[0]!.record.offset, to: rows.at(-1)!.record.offset },
    token: `${at.token}/older/${source}`,
    keys: known.filter((key) => key.topic === source && key.partition === partition),
    async countHeld(table) {
      const counted = await countedRows(clickhouse, table, { source, partition })
      // Some of the rows that it lacks may be there no more.
      if (counted >= before) return Math.min(Math.max(rows.length - (log_rows - counted), 0), rows.length)
      const fields = { table, source, partition, missing: before - counted }
      logger?.error(fields, 'a table lacks rows of older blocks: run `tributary rebuild`')
      return rows.length
    },
  })
}

/** Of the newest older log. */
async function findLastBlock(
  clickhouse: Clickhouse,
  { topic, source, partition }: NewLog,
): Promise<LastBlock | undefined> {
  const [last] = await clickhouse.query<Omit<LastBlock, 'before'>>(
    `SELECT toString(topic) AS source, max(log_rows) AS log_rows FROM events_raw_v1
     WHERE partition = {partition:UInt32} AND startsWith(topic, {prefix:String}) AND topic != {source:String}
     GROUP BY topic ORDER BY source DESC LIMIT 1`,
    { partition, prefix: `${topic}@`, source },
  )
  if (last === undefined) return undefined
  const [row] = await clickhouse.query<{ before: number }>(
    `SELECT max(log_rows) AS before FROM events_raw_v1
     WHERE partition = {partition:UInt32} AND topic = {source:String} AND log_rows < {log_rows:UInt64}`,
    { partition, ...last },
  )
  return { ...last, before: row!.before }
}

async function readBlock(clickhouse: Clickhouse, { source, log_rows }: LastBlock, partition: number) {
  const found = await clickhouse.query<RowKey & { day: string; offset: number }>(
    `SELECT app_id, toString(t.day) AS day, toString(t.key_day) AS key_day, toString(t.event_key) AS event_key, offset
     FROM events_raw_v1 AS t
     WHERE topic = {source:String} AND partition = {partition:UInt32} AND log_rows = {log_rows:UInt64}
     ORDER BY offset`,
    { source, partition, log_rows },
  )
  const records = new Map<number, { offset: number }>()
  return found.map(({ offset, ...row }) => {
    const record = records.get(offset) ?? { offset }
    records.set(offset, record)
    return { ...row, record, from: 0, to: 0 }
  })
}
