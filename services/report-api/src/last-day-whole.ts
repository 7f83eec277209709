import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { addDays } from '@tributary/tables/settled/days'
import type { WindowDays } from './window-days.ts'

interface LastDayRequest {
  clickhouse: Pick<Clickhouse, 'query'>
  app_id: string
  window: WindowDays
}

/**
 * Reads a window of events that ends within a day with this day among its whole days, if no event of it is dated at `until_ms` or later and
 * none was erased: so it is with most windows until now. `until_ms` stays, for rows that have a time. If that changes while `read` runs, the
 * answer is dropped, and `read` gets the window with the day partly covered
 * (docs/decisions/reports.md#a-window-until-now-takes-the-whole-day).
 */
export async function readLastDayWhole<Answer>(
  { clickhouse, app_id, window }: LastDayRequest,
  read: (window: WindowDays) => Promise<Answer>,
): Promise<Answer> {
  const { last_day, since_ms, until_ms, edge_days } = window
  // A window that begins within the day covers a part of it in any case.
  if (!edge_days.includes(last_day) || since_ms > Date.parse(last_day)) return read(window)
  const hasOthers = async () => (await clickhouse.query(othersSql, { app_id, last_day, until_ms })).length > 0
  if (await hasOthers()) return read(window)
  const edges = edge_days.filter((day) => day !== last_day)
  const answer = await read({ ...window, whole_to: addDays(last_day, 1), edge_days: edges })
  return (await hasOthers()) ? read(window) : answer
}

/** Events of the day that sums of it hold, or held, and the window does not. */
const othersSql = `
SELECT 1 AS other FROM (
  SELECT 1 FROM events_raw_v1 WHERE app_id = {app_id:String} AND day = {last_day:Date} AND ts_ms >= {until_ms:Int64} LIMIT 1
  UNION ALL
  SELECT 1 FROM erased_events_v1 WHERE app_id = {app_id:String} AND day = {last_day:Date} LIMIT 1
)`
