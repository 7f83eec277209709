import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import { emptySettled, stampAgain } from '@tributary/tables/repair/refill-tables'
import { builtTables } from './compare.ts'
import { databaseOf } from './scratch.ts'

/**
 * Puts the partitions of the scratch tables in the place of the live ones. Each partition is replaced at once, by links to the same files,
 * and the tables stay who they are: views, rights and replicas do not notice. An `EXCHANGE TABLES` would rename them, and a table whose
 * path in Keeper has its name can't be renamed. May be killed and repeated anywhere, since the scratch tables
 * stay as they are:
 *
 * 1. Settled figures are forgotten. A crash now: the settler works them out again.
 * 2. Table after table is replaced, events first, the keys of events behind all that events fill. A crash in between: some tables are new
 *    and some old, as after a lost part; the next run replaces all of them.
 * 3. Stamps are made anew, and figures that were settled meanwhile are forgotten.
 */
export async function swapTables(live: Clickhouse, scratch: Clickhouse): Promise<void> {
  const from = await databaseOf(scratch)
  await emptySettled(live) // 1.
  for (const table of builtTables) {
    // 2.
    const built = await partitionsOf(scratch, table)
    for (const id of built)
      await live.command(`ALTER TABLE ${table} REPLACE PARTITION ID ${textLiteral(id)} FROM ${from}.${table}`)
    for (const id of await partitionsOf(live, table))
      if (!built.includes(id)) await live.command(`ALTER TABLE ${table} DROP PARTITION ID ${textLiteral(id)}`)
  }
  await stampAgain(live) // 3.
  await emptySettled(live)
}

async function partitionsOf(clickhouse: Clickhouse, table: string): Promise<string[]> {
  const rows = await clickhouse.query<{ id: string }>(
    `SELECT DISTINCT partition_id AS id FROM system.parts
     WHERE active AND rows > 0 AND database = currentDatabase() AND table = ${textLiteral(table)} ORDER BY id`,
  )
  return rows.map(({ id }) => id)
}
