import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { day_ms } from '@tributary/contracts/limits'
import { type WindowDays, windowDays } from './window-days.ts'

interface LastDayRequest {
  clickhouse: Pick<Clickhouse, 'query'>
  app_id: string
  window: WindowDays
  /** The rows that the report counts, by the time that it counts them by. */
  dated: Dated
}

/** A table with columns `app_id` and `day`, and the column of the time that the day is of. */
export interface Dated {
  table: string
  time_column: string
}

/**
 * Reads a window that ends within a day as if it took this day to its end, if nothing of the day is dated at `until_ms` or later: so it is
 * with a window until now. Sums and settled figures hold whole days only. If such a row comes while `read` runs, the answer is dropped, and
 * `read` gets the exact window (docs/decisions/reports.md#a-window-until-now-takes-the-whole-day).
 */
export async function readLastDayWhole<Answer>(
  { clickhouse, app_id, window, dated }: LastDayRequest,
  read: (window: WindowDays) => Promise<Answer>,
): Promise<Answer> {
  const { last_day, since_ms, until_ms, edge_days } = window
  const day_begin_ms = Date.parse(last_day)
  // A window that begins within the day covers a part of it in any case.
  if (!edge_days.includes(last_day) || since_ms > day_begin_ms) return read(window)
  const laterSql = `SELECT 1 AS later FROM ${dated.table}
WHERE app_id = {app_id:String} AND day = {last_day:Date} AND ${dated.time_column} >= {until_ms:Int64} LIMIT 1`
  const hasLater = async () => (await clickhouse.query(laterSql, { app_id, last_day, until_ms })).length > 0
  if (await hasLater()) return read(window)
  const answer = await read(windowDays({ since_ms, until_ms: day_begin_ms + day_ms })!)
  return (await hasLater()) ? read(window) : answer
}
