import type { Tiles } from '@tributary/contracts/admin/rows/overview'
import { day_ms } from '@tributary/contracts/limits'
import type { ReportName, ReportRow } from '@tributary/contracts/reports'
import { allPages } from '../answers/all-pages.ts'
import type { ReportPage } from '../parameters.ts'
import type { Report, ReportSources } from '../report.ts'
import { attributionReport } from '../reports/attribution.ts'
import { cohortsReport } from '../reports/cohorts.ts'
import { eventsReport } from '../reports/events.ts'
import { revenueReport } from '../reports/revenue.ts'
import type { RowWindow } from './row-window.ts'

/** A period and the one before it, of equal length. */
export interface Periods {
  now: RowWindow
  before: RowWindow
}

/** What has passed of a window, and as much from the begin of the window before it: a month half over is compared with half a month. */
export function periodsOf({ since_ms, until_ms }: RowWindow, now_ms: number): Periods {
  const end_ms = Math.max(since_ms, Math.min(until_ms, now_ms))
  const length_ms = until_ms - since_ms
  return {
    now: { since_ms, until_ms: end_ms },
    before: { since_ms: since_ms - length_ms, until_ms: end_ms - length_ms },
  }
}

/** The figures of an app as its reports have them. */
export async function readTiles(
  sources: ReportSources,
  app_id: string,
  { now, before }: Periods,
  now_ms: number,
): Promise<Tiles> {
  const [a, b] = [await readFigures(sources, app_id, now, now_ms), await readFigures(sources, app_id, before, now_ms)]
  const tile = <Name extends keyof typeof a>(name: Name) => ({ now: a[name], before: b[name] })
  return {
    ...{
      installs: tile('installs'),
      events: tile('events'),
      revenue_usd: tile('revenue_usd'),
      d7_rate: tile('d7_rate'),
    },
    missing_rates: [...new Set([...a.missing_rates, ...b.missing_rates])].toSorted(),
  }
}

async function readFigures(sources: ReportSources, app_id: string, window: RowWindow, now_ms: number) {
  const read = <Name extends ReportName>(report: Report<Name>, of: RowWindow, form: Form) =>
    readAll(report, sources, { app_id, ...of, ...form })
  const installs = await read<'attribution'>(attributionReport, window, { group: 'month' })
  const events = await read<'events'>(eventsReport, window, { group: 'month', count_uniques: false })
  // Money of a day is settled, that of a month is not.
  const revenue = await read<'revenue'>(revenueReport, window, { group: 'day' })
  // Day 7 of an install is over after 8 times 24 hours.
  const mature = { ...window, until_ms: Math.min(window.until_ms, now_ms - 8 * day_ms) }
  const cohorts = await read<'cohorts'>(cohortsReport, mature, { group: 'month', days: [7] })
  const cohort_installs = sum(cohorts.rows, (row) => row.installs)
  return {
    installs: sum(installs.rows, (row) => row.installs),
    events: sum(events.rows, (row) => row.events),
    revenue_usd: round4(sum(revenue.rows, (row) => row.revenue_usd)),
    d7_rate: cohort_installs === 0 ? null : round4(sum(cohorts.rows, (row) => row.d7) / cohort_installs),
    missing_rates: revenue.missing_rates,
  }
}

const sum = <Row>(rows: readonly Row[], count: (row: Row) => number): number =>
  rows.reduce((total, row) => total + count(row), 0)
const round4 = (value: number): number => Math.round(value * 1e4) / 1e4

type Form = Pick<Parameters<Report<ReportName>>[1], 'group' | 'days' | 'count_uniques'>

/** All rows of a report, page by page. */
async function readAll<Name extends ReportName>(
  report: Report<Name>,
  sources: ReportSources,
  asked: RowWindow & Form & { app_id: string },
): Promise<{ rows: ReportRow<Name>[]; missing_rates: readonly string[] }> {
  const rows: ReportRow<Name>[] = []
  if (asked.since_ms >= asked.until_ms) return { rows, missing_rates: [] }
  const missing_rates = new Set<string>()
  const read = (page: ReportPage) => report(sources, { ...asked, ...page, count_rows: false, filters: {} })
  const { since_ms, until_ms } = asked
  for await (const page of allPages(read, { since_ms, until_ms, limit: 0, offset: 0 })) {
    rows.push(...(page.rows as ReportRow<Name>[]))
    for (const currency of page.missing_rates) missing_rates.add(currency)
  }
  return { rows, missing_rates: [...missing_rates] }
}
