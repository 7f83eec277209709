import type { EventsReport } from '@tributary/contracts/reports'
import { convertMoney } from '../money.ts'
import { partlyCoveredDays, type Report, wholeDays, wholeWindow, windowDays } from '../report.ts'

type Row = EventsReport['rows'][number]

/**
 * Counts by day and event name. Whole UTC days come from roll-ups, partly covered ones from raw rows; a day is never
 * both. `unique_installs` is read for the rows of the page alone, since sets of installs are the heavy part. Money is
 * what counts (decisions.md "Money once"), summed in its own currency and turned into USD row by row.
 */
export const eventsReport: Report<Row> = async (sources, { app_id, limit, offset, ...window }) => {
  const { clickhouse } = sources
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
  const usd = await convertMoney(sources, page)
  return page.map(({ day, event_name, events }, index) => ({
    day,
    event_name,
    events,
    unique_installs: unique.get(day + event_name) ?? 0,
    revenue_usd: usd[index] ?? 0,
  }))
}

interface CountRow {
  day: string
  event_name: string
  events: number
  /** Currency and micros as text, for each currency with another sum than 0. */
  money: [currency: string, micros: string][]
}

const countsSql = `
SELECT toString(date) AS day, event_name, sum(n) AS events, groupArrayIf((code, toString(amount)), amount != 0) AS money
FROM (
  SELECT date, event_name, code, sum(n) AS n, sum(micros) AS amount
  FROM (
    SELECT day AS date, event_name, currency AS code, sum(events) AS n, sum(revenue_micros) AS micros
    FROM events_per_day_v1
    WHERE ${wholeDays}
    GROUP BY date, event_name, code
    UNION ALL
    SELECT day AS date, event_name, currency AS code, count() AS n,
      sumIf(toInt128(ifNull(revenue_micros, 0)), revenue_counts = 1) AS micros
    FROM events_raw_v1
    WHERE ${partlyCoveredDays}
    GROUP BY date, event_name, code
    UNION ALL
    SELECT day AS date, event_name, currency AS code, toUInt64(0) AS n, -sum(toInt128(amount_micros)) AS micros
    FROM revenue_cancelled_v1 FINAL
    WHERE ${wholeWindow}
    GROUP BY date, event_name, code
  )
  GROUP BY date, event_name, code
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
