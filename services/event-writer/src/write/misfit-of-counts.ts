import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Misfit, TakenOver } from '@tributary/service-kit/consumer/define-consumer'
import { stateOf } from './write-batch.ts'
import { countedRows, countedTables, hasNewerLog } from './written-rows.ts'

/**
 * Compares the counts of the tables for a partition with the commit of its group. If they are smaller, parts of a table
 * were lost. If they go beyond the open batch, the log or its offsets were put back to an earlier state.
 */
export async function misfitOfCounts(
  clickhouse: Clickhouse,
  { source, partition, state, open_to }: TakenOver,
): Promise<Misfit | null> {
  const { rows } = stateOf(state)
  const counted = await Promise.all(countedTables.map((table) => countedRows(clickhouse, table, { source, partition })))
  if (counted.some((found) => found < rows)) return { reason: 'tables_lack_rows', reread: true }
  // Offsets of an older log were restored. That log is complete and must not go on.
  const newer = await Promise.all(countedTables.map((table) => hasNewerLog(clickhouse, table, { source, partition })))
  if (newer.includes(true)) return { reason: 'tables_are_ahead', reread: false }
  const isAhead = counted.some((found) => found > rows)
  if (isAhead && (open_to === null || (await hasRowsBehind(clickhouse, { source, partition }, open_to)))) {
    return { reason: 'tables_are_ahead', reread: false }
  }
  return null
}

/** Rows of a batch after the open one show that the open one was finished; its commit is older. */
async function hasRowsBehind(clickhouse: Clickhouse, at: { source: string; partition: number }, offset: number) {
  const [found] = await clickhouse.query<{ rows: number }>(
    `SELECT count() AS rows FROM events_raw_v1
     WHERE topic = {source:String} AND partition = {partition:UInt32} AND offset > {offset:UInt64}`,
    { ...at, offset },
  )
  return (found?.rows ?? 0) > 0
}
