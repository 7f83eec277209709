import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { day_ms } from '@tributary/contracts/limits'
import { type WindowDays, windowDays } from './window-days.ts'

interface WholeEndRequest {
  clickhouse: Pick<Clickhouse, 'query'>
  app_id: string
  days: WindowDays
  /** Tables whose rows the report counts by a time. Whatever else it counts is stored after such a row. */
  dated: readonly { table: string; time_column: string }[]
}

/**
 * Reads a window that ends within a day as if it ended with this day, if no row of the day is dated at the end of the window or later: so it
 * is with a window until now. Sums and settled figures hold whole days only. Such a row may come meanwhile; then `read` reads the window as
 * it is (docs/decisions/reports.md#a-window-until-now-takes-the-whole-day).
 */
export async function readWholeEnd<Answer>(
  { clickhouse, app_id, days, dated }: WholeEndRequest,
  read: (days: WindowDays) => Promise<Answer>,
): Promise<Answer> {
  const { last_day, since_ms, until_ms, edge_days } = days
  if (!edge_days.includes(last_day)) return read(days)
  const laterSql = dated
    .map(
      ({ table, time_column }) =>
        `SELECT 1 AS later FROM ${table} WHERE app_id = {app_id:String} AND day = {last_day:Date} AND ${time_column} >= {until_ms:Int64} LIMIT 1`,
    )
    .join(' UNION ALL ')
  const hasLater = async () => (await clickhouse.query(laterSql, { app_id, last_day, until_ms })).length > 0
  if (await hasLater()) return read(days)
  const answer = await read(windowDays({ since_ms, until_ms: Date.parse(last_day) + day_ms })!)
  return (await hasLater()) ? read(days) : answer
}
