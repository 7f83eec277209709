import type { EventsReport } from '@tributary/contracts/reports'
import { roundMicros } from '../money.ts'
import { partlyCoveredDays, type Report, wholeDays, windowDays } from '../report.ts'

type Row = EventsReport['rows'][number]

/**
 * Counts by day and event name. Whole UTC days come from roll-ups, partly covered ones from raw rows; a day is never
 * both. `unique_installs` is read for the rows of the page alone, since sets of installs are the heavy part.
 */
export const eventsReport: Report<Row> = async (clickhouse, { app_id, limit, offset, ...window }) => {
  const days = windowDays(window)
  if (days === null) return []
  const params = { app_id, ...days }
  const page = await clickhouse.query<CountRow>(countsSql, { ...params, limit, offset })
  const first = page[0]
  const last = page.at(-1)
  if (first === undefined || last === undefined) return []
  const uniques = await clickhouse.query<UniqueRow>(uniquesSql, {
    ...params,
    page_first_day: first.day,
    page_first_name: first.event_name,
    page_last_day: last.day,
    page_last_name: last.event_name,
  })
  const unique = new Map(uniques.map((row) => [`${row.day}${row.event_name}`, row.unique_installs]))
  return page.map(({ day, event_name, events, usd_micros }) => ({
    day,
    event_name,
    events,
    unique_installs: unique.get(day + event_name) ?? 0,
    revenue_usd: roundMicros(usd_micros),
  }))
}

interface CountRow {
  day: string
  event_name: string
  events: number
  usd_micros: string
}

// Money in other currencies counts as no USD until daily rates are loaded (decisions.md "USD").
const countsSql = `
SELECT toString(date) AS day, event_name, sum(n) AS events, toString(sum(usd)) AS usd_micros
FROM (
  SELECT day AS date, event_name, sum(events) AS n, sumIf(revenue_micros, currency = 'USD') AS usd
  FROM events_per_day_v1
  WHERE ${wholeDays}
  GROUP BY date, event_name
  UNION ALL
  SELECT day AS date, event_name, count() AS n, sumIf(toInt128(ifNull(revenue_micros, 0)), currency = 'USD') AS usd
  FROM events_raw_v1
  WHERE ${partlyCoveredDays}
  GROUP BY date, event_name
)
GROUP BY date, event_name
ORDER BY date, event_name
LIMIT {limit:UInt32} OFFSET {offset:UInt64}`

interface UniqueRow {
  day: string
  event_name: string
  unique_installs: number
}

// Rows are ordered by day and name, so a page is one range of both.
const pageRange = `day >= {page_first_day:Date} AND day <= {page_last_day:Date}
    AND (day > {page_first_day:Date} OR event_name >= {page_first_name:String})
    AND (day < {page_last_day:Date} OR event_name <= {page_last_name:String})`

const uniquesSql = `
SELECT toString(date) AS day, event_name, unique_installs
FROM (
  SELECT day AS date, event_name, uniqExactMerge(installs) AS unique_installs
  FROM event_installs_per_day_v1
  WHERE ${wholeDays} AND ${pageRange}
  GROUP BY date, event_name
  UNION ALL
  SELECT day AS date, event_name, uniqExact(install_uuid) AS unique_installs
  FROM events_raw_v1
  WHERE ${partlyCoveredDays} AND ${pageRange}
  GROUP BY date, event_name
)`
