import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { erasedTables } from '@tributary/contracts/tables'

/** Bounds the time of one rewrite, as that of an insert that is tried so often. The engine goes on, and the next run finds the rest. */
const rewrite_attempt = 8

/**
 * Rewrites the parts that hold hidden rows, so that their bytes go (docs/decisions/erasure.md#rows-are-hidden-first-parts-rewritten-last).
 * One rewrite a table and run; a table without such parts costs a query. The engine removes the old parts some minutes later.
 */
export async function rewriteParts(clickhouse: Clickhouse, signal: AbortSignal): Promise<string[]> {
  const found = await clickhouse.query<{ table: string }>(
    `SELECT DISTINCT table FROM system.parts
     WHERE database = currentDatabase() AND active AND has_lightweight_delete ORDER BY table`,
  )
  const tables = found.map(({ table }) => table).filter((table) => (erasedTables as readonly string[]).includes(table))
  for (const table of tables) {
    signal.throwIfAborted()
    await clickhouse.command(`ALTER TABLE ${table} APPLY DELETED MASK SETTINGS mutations_sync = 2`, {
      name: `eraser/rewrite/${table}`,
      attempt: rewrite_attempt,
    })
  }
  return tables
}
