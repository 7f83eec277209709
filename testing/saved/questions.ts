import type { Ask, SendStep } from './steps.ts'

/** What the reports of an app can be asked that may tell a figure from another: all of it is asked at each `ask`. */
interface Kind {
  report: string
  filters: ('partner' | 'attribution_type' | 'event_name')[]
  days: boolean
}

const kinds: Kind[] = [
  { report: 'attribution', filters: ['partner', 'attribution_type'], days: false },
  { report: 'revenue', filters: ['partner'], days: false },
  { report: 'cohorts', filters: [], days: true },
  { report: 'ltv', filters: ['partner'], days: true },
  { report: 'events', filters: ['event_name'], days: false },
  { report: 'skan', filters: [], days: false },
]
/** What an `ask` without `reports` means. */
const most = kinds.map(({ report }) => report).filter((report) => report !== 'skan')
const attribution_types = ['organic', 'install_referrer', 'click_id', 'device_id', 'probabilistic']

/** The requests of an `ask`, without their times. */
export function questionsOf(ask: Ask): Omit<SendStep, 'at'>[] {
  const { key, reports = most, installs = [] } = ask
  const asked = kinds.filter(({ report }) => reports.includes(report)).flatMap((kind) => questionsTo(kind, ask))
  return [
    ...asked.map(([path, accept]) => ({ send: `GET ${path}`, key, headers: { accept } })),
    ...installs.map((uuid) => ({ send: `GET /api/v1/installs/${uuid}`, key })),
  ]
}

function questionsTo({ report, filters, days }: Kind, ask: Ask): [path: string, accept: string][] {
  const { since_ms, until_ms, windows = [], few } = ask
  const path = (since: number, until: number, ...more: string[]) =>
    `/api/v1/reports/${report}?${[`since_ms=${since}`, `until_ms=${until}`, ...more].join('&')}`
  const whole = (...more: string[]) => path(since_ms, until_ms, ...more)
  const json = (url: string): [string, string] => [url, 'application/json']
  if (few) return [json(whole('limit=1000'))]
  const values = (filter: Kind['filters'][number]) =>
    ({ partner: ask.partners, event_name: ask.event_names, attribution_type: attribution_types })[filter] ?? []
  const filtered = filters.flatMap((filter) => {
    const each = values(filter).map((value) => `${filter}=${value}`)
    return [...each.map((one) => whole(one)), ...(each.length > 1 ? [whole(...each.slice(0, 2), 'group=month')] : [])]
  })
  return [
    ...[whole('limit=1000'), whole('group=week'), whole('group=month'), whole('limit=3', 'offset=2')].map(json),
    ...[path(since_ms + 1, until_ms), path(since_ms, until_ms - 1)].map(json),
    ...windows.map(([since, until]) => json(path(since, until))),
    ...windows.slice(0, 1).map(([since, until]) => json(path(since, until, 'group=week'))),
    ...filtered.map(json),
    ...(days ? [json(whole('days=0,1,2,3,7,14')), json(whole('days=30,365', 'group=month'))] : []),
    [whole(), 'text/csv'],
    json(`/api/v1/reports/${report}`),
  ]
}
