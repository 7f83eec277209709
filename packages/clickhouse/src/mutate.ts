import { setTimeout } from 'node:timers/promises'
import type { Clickhouse } from './clickhouse.ts'
import { textLiteral } from './literals.ts'

/** A change of stored rows: what is to be done, and which rows it concerns. Both are SQL from the code. */
export interface Mutation {
  table: string
  /** `UPDATE column = ...` or `DELETE`. */
  action: string
  where: string
  /** Present where `where` reads another table. Each replica reads its own copy, which has to be old enough to be complete. */
  reads_other_table?: true
  signal: AbortSignal
}

/** Between two looks whether a mutation is done. */
const look_ms = 50
/** Looks in a row that find no mutation of the table, which may be detached for a moment, or on a replica that has not heard of it. */
const unknown_looks_max = 100

/**
 * Rewrites the parts that hold rows of a condition, one partition after the other, and resolves with the number of rows once the
 * new parts are in use. Partitions without such a row are not touched. The engine goes on by itself after a crash, and the same
 * call finds nothing left then. Rejects when a part can't be rewritten.
 */
export async function mutate(clickhouse: Clickhouse, mutation: Mutation): Promise<number> {
  const { table, action, where, reads_other_table, signal } = mutation
  const settings = `mutations_sync = 0${reads_other_table ? ', allow_nondeterministic_mutations = 1' : ''}`
  // No alias has the name of a column: `where` would read it.
  const concerned = await clickhouse.query<{ _partition_id: string; rows: number }>(
    `SELECT _partition_id, count() AS rows FROM ${table} WHERE ${where} GROUP BY _partition_id ORDER BY _partition_id`,
  )
  for (const { _partition_id } of concerned) {
    signal.throwIfAborted()
    // The statement does not wait for the end of its work: a session of the embedded engine is held meanwhile.
    await clickhouse.command(
      `ALTER TABLE ${table} ${action} IN PARTITION ID ${textLiteral(_partition_id)} WHERE ${where} SETTINGS ${settings}`,
    )
    await untilDone(clickhouse, table, signal)
  }
  return concerned.reduce((sum, { rows }) => sum + rows, 0)
}

async function untilDone(clickhouse: Clickhouse, table: string, signal: AbortSignal): Promise<void> {
  for (let unknown = 0; unknown < unknown_looks_max; ) {
    const [known] = await clickhouse.query<{ all: number; open: number; reason: string }>(
      `SELECT toUInt32(count()) AS all, toUInt32(countIf(NOT is_done)) AS open, maxIf(latest_fail_reason, NOT is_done) AS reason
       FROM system.mutations WHERE database = currentDatabase() AND table = ${textLiteral(table)}`,
    )
    const { all, open, reason } = known!
    if (all > 0 && open === 0) return
    if (reason !== '') throw new Error(`ClickHouse can't rewrite ${table}: ${reason}`)
    unknown = all === 0 ? unknown + 1 : 0
    await setTimeout(look_ms, undefined, { signal })
  }
  throw new Error(`ClickHouse knows no mutation of ${table} any more: it was killed, or the table is gone`)
}
