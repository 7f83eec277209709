import type { ReportDimension } from '@tributary/contracts/report-parameters'
import { declaredReports } from '../../api/declared/reports.ts'
import type { Period } from '../../api/maturity.ts'

export const dimensions: readonly ReportDimension[] = declaredReports.performance.filters
export const dimensions_max = 5
export const periods: readonly Period[] = ['none', 'day', 'week', 'month']

/** Where a click on a value leads next. */
const path: readonly ReportDimension[] = ['partner', 'campaign', 'ad_group', 'creative', 'country']
/** What an upload of costs can name. */
const costDimensions = new Set<ReportDimension>(['partner', 'campaign', 'ad_group', 'country'])

/** Words of an address. */
type Words = Readonly<Record<string, string | undefined>>

const isDimension = (text: string): text is ReportDimension => (dimensions as readonly string[]).includes(text)

/** The figures of every row, as the report declares them. */
export const figures: readonly string[] = declaredReports.performance.columns
  .map(({ name }) => name as string)
  .filter((name) => name !== 'day' && !isDimension(name))
/** Days since the install, and what a row can say of each. */
export const figureDays = [0, 1, 3, 7, 14, 30]
export const dayFigures = ['rate', 'revenue_usd', 'roas'] as const
const allFigures = [...figures, ...figureDays.flatMap((n) => dayFigures.map((one) => `d${n}_${one}`))]
const defaultFigures = ['clicks', 'installs', 'payers', 'revenue_usd', 'cost_usd', 'cpi_usd', 'roas', 'd7_rate']

/** `d7_roas` is of day 7; null: a figure of no day. */
export const dayOfFigure = (figure: string): number | null => {
  const [, n] = /^d(\d+)_/.exec(figure) ?? []
  return n === undefined ? null : Number(n)
}

export interface State {
  by: readonly ReportDimension[]
  period: Period
  /** Figures in the order of the report. */
  shown: readonly string[]
  sort: string
  /** The figure of the chart; null without one. */
  chart: string | null
  filters: Partial<Record<ReportDimension, string>>
}

/** What the address says. Words that mean nothing are left out. */
export function stateOf(words: Words): State {
  const list = (name: string, otherwise: string) => (words[name] ?? otherwise).split(',')
  const by = [...new Set(list('by', 'partner,campaign'))].filter(isDimension).slice(0, dimensions_max)
  const chosen = new Set(list('columns', defaultFigures.join(',')))
  const period = periods.find((one) => one === words.period) ?? 'none'
  const shown = allFigures.filter((name) => chosen.has(name))
  const sortable: string[] = [...shown, ...by, ...(period === 'none' ? [] : ['day'])]
  const sort = words.sort ?? '-installs'
  const chart = words.chart ?? 'installs'
  const unnamed = new Set(list('unnamed', ''))
  const filters = dimensions.flatMap((one) => {
    const value = unnamed.has(one) ? '' : words[one]
    return value === undefined ? [] : [[one, value]]
  })
  return {
    ...{ by, period, shown },
    sort: sortable.includes(sort.replace(/^-/, '')) ? sort : '-installs',
    chart: allFigures.includes(chart) ? chart : null,
    filters: Object.fromEntries(filters),
  }
}

/** The words of filters. An empty value would be no word at all. */
export const filterWords = (filters: State['filters']): Words => ({
  ...Object.fromEntries(dimensions.map((one) => [one, filters[one] || undefined])),
  unnamed: dimensions.filter((one) => filters[one] === '').join(',') || undefined,
})

/** The words of the page behind a value: only rows like this one up to the value, by what comes next. */
export function drill({ by, filters }: State, row: object, dimension: ReportDimension): Words {
  const fixed = by.slice(0, by.indexOf(dimension) + 1)
  const values = Object.fromEntries(fixed.map((one) => [one, String((row as Record<string, unknown>)[one] ?? '')]))
  const all = { ...filters, ...values }
  const rest = by.slice(fixed.length)
  const next = path.find((one) => all[one] === undefined && !rest.includes(one))
  return { ...filterWords(all), by: [...rest, ...(next && rest.length === 0 ? [next] : [])].join(',') || 'nothing' }
}

/** The dimensions of a view that costs, or clicks, are not counted by. */
export const withoutCosts = ({ by, filters }: State): ReportDimension[] =>
  dimensions.filter((one) => !costDimensions.has(one) && (by.includes(one) || filters[one] !== undefined))
export const withoutClicks = ({ by, filters }: State): ReportDimension[] =>
  dimensions.filter(
    (one) =>
      (/^sub\d$/.test(one) && by.includes(one)) ||
      (one === 'attribution_type' && (by.includes(one) || filters[one] !== undefined)),
  )

/** The days that the chosen figures need. */
export const daysParameter = (names: readonly string[]): string | undefined =>
  [...new Set(names.map(dayOfFigure).filter((n) => n !== null))].toSorted((a, b) => a - b).join(',') || undefined
