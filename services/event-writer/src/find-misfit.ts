import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Misfit, TakenOver } from '@tributary/service-kit/consumer'
import { stateOf } from './write-batch.ts'
import { countedRows, countedTables } from './written-rows.ts'

/**
 * Compares what the tables counted of a partition with what its group committed. Less: parts of a table were lost. More,
 * while no batch is open: the log or its offsets were put back to an earlier state.
 */
export async function findMisfit(
  clickhouse: Clickhouse,
  { source, partition, state, open }: TakenOver,
): Promise<Misfit | null> {
  const { rows } = stateOf(state)
  const counted = await Promise.all(countedTables.map((table) => countedRows(clickhouse, table, { source, partition })))
  if (counted.some((found) => found < rows)) return { reason: 'tables_lack_rows', reread: true }
  if (!open && counted.some((found) => found > rows)) return { reason: 'tables_are_ahead', reread: false }
  return null
}
