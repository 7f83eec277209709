import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { insertSettings } from '@tributary/clickhouse/insert-settings'
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
  // A replica may have a stamp and not yet the data behind it: a question waits until it has, an insert does not.
  const tables = new Set(reads.flatMap((read) => read.match(/\b\w+_v\d+\b/g) ?? []))
  await clickhouse.query(
    [...tables].map((table) => `SELECT 1 FROM (SELECT 1 FROM ${table} LIMIT 0)`).join(' UNION ALL '),
  )
  await clickhouse.command(`${sql}\nSETTINGS ${textOf({ ...settings, ...more })}`, {
    name: 'settle',
    tries: settle_tries,
  })
}

/** How long a statement may take: as long as an insert that was tried this often. */
const settle_tries = 3

/** A row is known by its stamp: no token. */
const settings = {
  ...insertSettings,
  insert_deduplicate: 0,
  deduplicate_insert: 'disable',
  deduplicate_insert_select: 'disable',
  max_threads: 1,
  max_memory_usage: limits.settle_memory_bytes_max,
  max_bytes_before_external_group_by: Math.floor(limits.settle_memory_bytes_max / 3),
  max_bytes_before_external_sort: Math.floor(limits.settle_memory_bytes_max / 3),
  max_bytes_before_external_join: Math.floor(limits.settle_memory_bytes_max / 3),
}

const textOf = (values: Readonly<Record<string, string | number>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name} = ${typeof value === 'string' ? `'${value}'` : value}`)
    .join(', ')
