import { methods, organic } from '@tributary/contracts/attribution/verdict'
import { daysOf, filtersOf, type ReportName, reportNames, reports } from '@tributary/contracts/reports'
import type { Ask, SendStep } from './steps.ts'

/** The recordings have these behind all others. They are older than costs, performance and receipts. */
const recorded_last: readonly ReportName[] = ['events', 'skan']
const recorded_first = reportNames.filter(
  (name) => !['costs', 'performance', 'receipts'].includes(name) && !recorded_last.includes(name),
)
const names: readonly ReportName[] = [...recorded_first, ...recorded_last]
/** What an `ask` without `reports` means. */
const most: readonly string[] = names.filter((name) => name !== 'skan')

/** The requests of an `ask`, without their times. */
export function questionsOf(ask: Ask): Omit<SendStep, 'at'>[] {
  const { key, reports = most, installs = [] } = ask
  const asked = names.filter((name) => reports.includes(name)).flatMap((name) => questionsTo(name, ask))
  return [
    ...asked.map(([path, accept]) => ({ send: `GET ${path}`, key, headers: { accept } })),
    ...installs.map((uuid) => ({ send: `GET /api/v1/installs/${uuid}`, key })),
  ]
}

/** The requests to a report whose answers may differ if a figure is wrong. */
function questionsTo(report: ReportName, ask: Ask): [path: string, accept: string][] {
  const { since_ms, until_ms, windows = [], few } = ask
  const path = (since: number, until: number, ...more: string[]) =>
    `/api/v1/reports/${report}?${[`since_ms=${since}`, `until_ms=${until}`, ...more].join('&')}`
  const whole = (...more: string[]) => path(since_ms, until_ms, ...more)
  const json = (url: string): [string, string] => [url, 'application/json']
  if (few) return [json(whole('limit=1000'))]
  const values: Partial<Record<string, readonly string[]>> = {
    partner: ask.partners ?? [],
    event_name: ask.event_names ?? [],
    attribution_type: [organic, ...methods],
  }
  const of_rows = Object.keys(filtersOf(report)).filter((filter) => filter in reports[report].row.shape)
  const filtered = of_rows.flatMap((filter) => {
    const each = (values[filter] ?? []).map((value) => `${filter}=${value}`)
    return [...each.map((one) => whole(one)), ...(each.length > 1 ? [whole(...each.slice(0, 2), 'group=month')] : [])]
  })
  const hasDays = daysOf(report).length > 0
  return [
    ...[whole('limit=1000'), whole('group=week'), whole('group=month'), whole('limit=3', 'offset=2')].map(json),
    ...[path(since_ms + 1, until_ms), path(since_ms, until_ms - 1)].map(json),
    ...windows.map(([since, until]) => json(path(since, until))),
    ...windows.slice(0, 1).map(([since, until]) => json(path(since, until, 'group=week'))),
    ...filtered.map(json),
    ...(hasDays ? [json(whole('days=0,1,2,3,7,14')), json(whole('days=30,365', 'group=month'))] : []),
    [whole(), 'text/csv'],
    json(`/api/v1/reports/${report}`),
  ]
}
