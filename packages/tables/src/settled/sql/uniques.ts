import { newestMark } from '../../events/raw-expired.ts'
import { type DaysOfApp, onDays } from './days-of-app.ts'

/**
 * Distinct installs by day and event name: of whole days from sets, of the edges of a window from raw rows. A hash of the id takes a quarter
 * less CPU there. A set can't lose an install: names of a day that an erasure touched are counted from raw rows for ever
 * (docs/decisions/erasure.md#uniques-of-erased-days-are-counted-live).
 */
export const uniquesSql = (at: DaysOfApp): string =>
  at.moments === undefined
    ? `
  SELECT day AS date, event_name, uniqExactMerge(event_installs_per_day_v1.installs) AS installs
  FROM event_installs_per_day_v1
  WHERE ${onDays(at)} AND ${isUntouched(onDays(at))}
  GROUP BY date, event_name
  UNION ALL
  SELECT day AS date, event_name, uniqExact(install_uuid) AS installs
  FROM events_raw_v1
  WHERE ${onDays(at)} AND ${isTouched(onDays(at))}
  GROUP BY date, event_name`
    : `
  SELECT day AS date, event_name, uniqExact(sipHash64(install_uuid)) AS installs
  FROM events_raw_v1
  WHERE ${onDays(at)}
  GROUP BY date, event_name`

// Retention fills the sets of these names again from raw rows before these expire (docs/privacy.md#retention).
const touched = (where: string) => `(SELECT day, event_name FROM erased_events_v1
    LEFT JOIN (SELECT app_id, ${newestMark} AS before FROM raw_expired_v1 GROUP BY app_id) AS r USING (app_id)
    WHERE ${where} AND day >= before)`
/** SQL condition for the events of names and days that an erasure took some from; `where` names app and days. */
export const isTouched = (where: string): string => `(day, event_name) IN ${touched(where)}`
export const isUntouched = (where: string): string => `(day, event_name) NOT IN ${touched(where)}`
