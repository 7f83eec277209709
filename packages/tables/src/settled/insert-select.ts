import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { insertSettings } from '@tributary/clickhouse/insert-settings'
import { memorySettings, settingsSql } from '@tributary/clickhouse/settings-sql'
import { limits } from '@tributary/contracts/limits'

/**
 * Runs one `INSERT ... SELECT` of the settler: in one thread, since reports and consumers come first. `reads` are the statements
 * or names of the tables that it reads.
 */
export async function insertSelect(
  clickhouse: Clickhouse,
  reads: readonly string[],
  sql: string,
  more: Readonly<Record<string, number>> = {},
): Promise<void> {
  // A replica may have a stamp before the data behind it. A query waits for the data, an INSERT ... SELECT does not.
  const tables = new Set(reads.flatMap((read) => read.match(/\b\w+_v\d+\b/g) ?? []))
  await clickhouse.query(
    [...tables].map((table) => `SELECT 1 FROM (SELECT 1 FROM ${table} LIMIT 0)`).join(' UNION ALL '),
  )
  await clickhouse.command(`${sql}\nSETTINGS ${settingsSql({ ...settings, ...more })}`, {
    name: 'settle',
    attempt: settle_attempt,
  })
}

/** How long a statement may take: as long as an insert that was tried this often. */
const settle_attempt = 3

/** A row is known by its stamp: no token. */
const settings = {
  ...insertSettings,
  insert_deduplicate: 0,
  deduplicate_insert: 'disable',
  deduplicate_insert_select: 'disable',
  max_threads: 1,
  ...memorySettings(limits.settle_memory_bytes_max),
}
