import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import { limits } from '@tributary/contracts/limits'
import { type FigureName, figureOf } from './figures.ts'
import type { StampedDay } from './settle-days.ts'
import { type CohortName, cohortFigures, settledNumbers } from './sql/cohorts.ts'

type Statements = Pick<Clickhouse, 'query'>

/** A day that is to be settled. */
export interface Due extends StampedDay {
  app_id: string
  /** The number of days of a cohort; 0 for other figures. */
  n: number
}

/** Selects a page of what is due, ordered by app, number of days, and day. */
export interface DueRequest {
  /** Days that changed in the last so many milliseconds by the clock of ClickHouse are left out, but for money that has grown enough. */
  quiet_ms: number
  /** True leaves out what reads the UTC day that is not over yet, but for its money once that has grown enough. */
  only_over: boolean
  /** The last one of the page before. */
  after: Due | null
}

/** SQL of the UTC day by the clock of the engine. */
export const engine_today = `toDate(now('UTC'))`
const over = (only_over: boolean, days: string) => (only_over ? `${engine_today} NOT IN (${days})` : 'true')
const clock_ms = 'toUnixTimestamp64Milli(now64(3))'
/** A change far in the future was noted by a clock that was ahead: its day must not stay live until then. */
const quiet = (quiet_ms: number) =>
  `(max(changed) <= ${clock_ms} - ${Number(quiet_ms)} OR max(changed) > ${clock_ms} + ${limits.clocks_apart_ms_max})`

/** A page of days whose settled row is missing or has another stamp than the day. */
export function findDueDays(
  clickhouse: Statements,
  name: FigureName,
  { quiet_ms, only_over, after }: DueRequest,
): Promise<Due[]> {
  const { table, source, grows } = figureOf(name)
  const behind =
    after === null ? '1' : `(app_id, date) > (${textLiteral(after.app_id)}, toDate(${textLiteral(after.day)}))`
  // Reports add to a settled day that has grown, so it is settled again before they have much to add, quiet or not.
  const hasGrown = grows ? `max(settled) > 0 AND max(present) >= max(settled) + ${limits.settle_changes_max}` : '0'
  const { settle_today_changes_min: changes_min, settle_today_divisor, settle_today_spoilt_divisor } = limits
  const divisor = `if(max(present) - max(events_added) = max(noted), ${settle_today_divisor}, ${settle_today_spoilt_divisor})`
  const hasGrownToday = grows
    ? `max(present) >= max(settled) + greatest(${changes_min}, intDiv(max(present), ${divisor}))`
    : '0'
  const isOver = over(only_over, 'date')
  return clickhouse.query<Due>(
    `SELECT app_id, toString(date) AS day, 0 AS n, toString(max(present)) AS stamp, toString(max(present) - max(events_added)) AS other_changes,
       toUInt8(NOT ${quiet(quiet_ms)}) AS is_changing
     FROM (
       SELECT app_id, day AS date, sum(rows) AS present, sum(added) AS events_added, max(changed_at_ms) AS changed,
         toUInt64(0) AS settled, toUInt64(0) AS noted
       FROM report_stamps_v1 WHERE source = ${textLiteral(source)} GROUP BY app_id, date
       UNION ALL
       SELECT app_id, day AS date, 0, 0, 0, max(stamp), ${grows ? 'argMax(other_changes, stamp)' : '0'} FROM ${table} GROUP BY app_id, date
     )
     WHERE ${behind}
     GROUP BY app_id, date
     HAVING max(present) > 0 AND max(present) != max(settled)
       AND (${isOver} AND (NOT is_changing OR ${hasGrown}) OR NOT ${isOver} AND ${hasGrownToday})
     ORDER BY app_id, date LIMIT ${limits.settle_page}`,
  )
}

/** The same for cohorts. A pair depends on the installs of its day, and on the activity of the two days that its window meets. */
export function findDuePairs(
  clickhouse: Statements,
  name: CohortName,
  { quiet_ms, only_over, after }: DueRequest,
): Promise<Due[]> {
  const { table, source } = cohortFigures[name]
  const behind =
    after === null
      ? '1'
      : `(app_id, n, date) > (${textLiteral(after.app_id)}, ${Number(after.n)}, toDate(${textLiteral(after.day)}))`
  const numbers = `CAST([${settledNumbers}], 'Array(UInt16)')`
  return clickhouse.query<Due>(
    `SELECT app_id, toString(date) AS day, n, toString(sum(present)) AS stamp, '0' AS other_changes, toUInt8(0) AS is_changing
     FROM (
       SELECT app_id, day AS date, arrayJoin(${numbers}) AS n, sum(rows) AS present, max(changed_at_ms) AS changed,
         1 AS installs, toUInt64(0) AS settled
       FROM report_stamps_v1 WHERE source = ${textLiteral(source)} GROUP BY app_id, date
       UNION ALL
       SELECT app_id, date - n - arrayJoin([0, 1]), n, present, changed, 0, 0
       FROM (
         SELECT app_id, day AS date, arrayJoin(${numbers}) AS n, sum(rows) AS present, max(changed_at_ms) AS changed
         FROM report_stamps_v1 WHERE source = 'activity' GROUP BY app_id, date
       )
       UNION ALL
       SELECT app_id, day AS date, n, 0, 0, 0, max(stamp) FROM ${table} GROUP BY app_id, date, n
     )
     WHERE ${behind}
     GROUP BY app_id, n, date
     HAVING max(installs) = 1 AND sum(present) != max(settled) AND ${quiet(quiet_ms)}
       AND ${over(only_over, 'date, date + n, date + n + 1')}
     ORDER BY app_id, n, date LIMIT ${limits.settle_page}`,
  )
}
