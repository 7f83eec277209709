import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Mutation } from '@tributary/clickhouse/mutate'
import { blankAddresses, deleteDays } from './act-on-tables.ts'
import { deleteUnproven } from './delete-unproven.ts'
import { firstKept, readKeptApps } from './kept-days.ts'
import { type RetentionDeps, type RetentionDone, unprovenBefore } from './run-retention.ts'

/**
 * Counts the rows on which a run would act now, and changes nothing. A run may take fewer: raw events wait for the eraser and for
 * what is being written.
 */
export async function planRetention(deps: RetentionDeps, signal: AbortSignal): Promise<RetentionDone> {
  const { pool, clickhouse, now } = deps
  const rows: Record<string, number> = Object.create(null)
  const onRows = (table: string, count: number) => {
    if (count > 0) rows[table] = (rows[table] ?? 0) + count
  }
  const at = { clickhouse, signal, onRows, act: countRows }
  const now_ms = now()
  const apps = await readKeptApps(pool)
  await blankAddresses(at, firstKept(apps, 'keep_ip_days', now_ms))
  await deleteDays(at, 'keep_click_days', firstKept(apps, 'keep_click_days', now_ms))
  const { days } = firstKept(apps, 'keep_raw_days', now_ms)
  if (days.size > 0) await deleteDays(at, 'keep_raw_days', { days, otherwise: null })
  await deleteUnproven(at, await unprovenBefore(deps, now_ms))
  return { rows, objects_blanked: 0, objects_deleted: 0 }
}

async function countRows(clickhouse: Clickhouse, { table, where }: Mutation): Promise<number> {
  const [found] = await clickhouse.query<{ rows: number }>(`SELECT count() AS rows FROM ${table} WHERE ${where}`)
  return found!.rows
}
