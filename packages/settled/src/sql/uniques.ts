import { type DaysOfApp, onDays } from './days-of-app.ts'

/** Distinct installs by day and event name: of whole days from sets, of the edges of a window from raw rows. */
export const uniquesSql = (at: DaysOfApp): string =>
  at.moments === undefined
    ? `
  SELECT day AS date, event_name, uniqExactMerge(event_installs_per_day_v1.installs) AS installs
  FROM event_installs_per_day_v1
  WHERE ${onDays(at)}
  GROUP BY date, event_name`
    : `
  SELECT day AS date, event_name, uniqExact(install_uuid) AS installs
  FROM events_raw_v1
  WHERE ${onDays(at)}
  GROUP BY date, event_name`
