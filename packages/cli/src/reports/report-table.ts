import type { ReportMeta } from '@tributary/client/reports'
import { day_ms } from '@tributary/contracts/limits'
import type { ReportGroup } from '@tributary/contracts/report-parameters'
import { aligned, cell } from '../output.ts'
import { paintHeat } from './heat.ts'

interface Shown {
  /** The fields of the rows, in their order. */
  columns: readonly string[]
  rows: readonly object[]
  meta: ReportMeta
  group: ReportGroup
  /** The terminal shows 256 colours. */
  hasColours: boolean
}

/**
 * A report for a person: money with cents, shares in percent, a plus at figures that may still grow, and a tilde at periods that the
 * window cuts. Cohorts show
 * shares alone, on a colour that gets stronger with the share; postbacks leave out rare columns that no row fills.
 */
export function reportTable({ columns, rows: of_periods, meta, group, hasColours }: Shown): string {
  const rows = meta.totals === undefined ? of_periods : [...of_periods, totalsRow(columns, meta.totals)]
  const isHeatMap = columns.some((column) => /^d\d+_rate$/.test(column))
  const isFilled = (column: string) => !rare.test(column) || rows.some((row) => Reflect.get(row, column))
  const shown = columns.filter((column) => !(isHeatMap && /^d\d+$/.test(column)) && isFilled(column))
  const values = rows.map((row) => shown.map((column): unknown => Reflect.get(row, column)))
  const mayGrow = growing(columns, meta, group)
  const isCut = cutPeriods(meta, group)
  const marks = rows.map((row) => {
    const day = String(Reflect.get(row, 'day'))
    return shown.map((column) => (column === 'day' ? (isCut(day) ? '~' : '') : mayGrow(day, column) ? '+' : ''))
  })
  const isMarked = shown.map((_, n) => marks.some((row) => row[n] !== ''))
  const cells = values.map((row, at) =>
    row.map((value, n) => textOf(shown[n]!, value) + (isMarked[n] ? marks[at]![n] || ' ' : '')),
  )
  const shares = values.flatMap((row) => row.filter((_, n) => shown[n]!.endsWith('_rate'))).map(Number)
  const paint = hasColours && isHeatMap ? paintHeat(shares.reduce((max, share) => Math.max(max, share), 0)) : undefined
  const head = shown.map((column, n) => column.replace(/_rate$/, '') + (isMarked[n] ? ' ' : ''))
  const table = aligned(head, cells, {
    isNumeric: shown.map((_, n) => values.every((row) => typeof row[n] === 'number' || row[n] === null)),
    paint: (text, row, n) => (shown[n]!.endsWith('_rate') && paint ? paint(text, Number(values[row]![n])) : text),
  })
  const used = new Set<string>(marks.flat())
  const legend = Object.entries(legends).filter(([mark]) => used.has(mark))
  return [table, ...legend.map(([mark, text]) => `${mark} ${text}`)].join('\n')
}

/** The figures of all rows, under the word in the first column that has none. */
function totalsRow(columns: readonly string[], totals: object): object {
  const [first] = columns.filter((column) => !(column in totals))
  return { ...(first !== undefined && { [first]: 'total' }), ...totals }
}

const legends = {
  '~': 'a part of its period: the window begins or ends inside',
  '+': 'may still grow: its days are not over for every install',
}

/** A row of postbacks is wider than most terminals. */
const rare = /^(redownloads|cv_null|coarse_\w+|unverified|schema_ambiguous)$/

const whole = new Intl.NumberFormat('en-US')
const decimals = (digits: number) =>
  new Intl.NumberFormat('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
const money = decimals(2)
const perHead = decimals(4)
const percent = decimals(1)

function textOf(column: string, value: unknown): string {
  if (typeof value !== 'number') return cell(value)
  if (column.endsWith('_rate')) return `${percent.format(value * 100)} %`
  if (/(ar\w+|cpi)_usd$|roas$/.test(column)) return perHead.format(value)
  return column.endsWith('_usd') ? money.format(value) : whole.format(value)
}

/** Whether the figure of a day N is final: `meta` says since when that of the largest N is. */
function growing(columns: readonly string[], { mature_until_ms, until_ms }: ReportMeta, group: ReportGroup) {
  const dayOf = (column: string) => Number(/^d(\d+)/.exec(column)?.[1] ?? Number.NaN)
  const last = Math.max(...columns.map(dayOf).filter((n) => !Number.isNaN(n)))
  return (day: string, column: string): boolean => {
    const n = dayOf(column)
    if (mature_until_ms === undefined || Number.isNaN(n)) return false
    return Math.min(periodEnd(day, group), until_ms) > mature_until_ms + (last - n) * day_ms
  }
}

/** Whether the window begins or ends inside the period of a row. */
const cutPeriods =
  ({ partial, since_ms, until_ms }: ReportMeta, group: ReportGroup) =>
  (day: string): boolean =>
    partial !== undefined && (Date.parse(day) < since_ms || periodEnd(day, group) > until_ms)

function periodEnd(day: string, group: ReportGroup): number {
  const begin = new Date(day)
  if (group === 'none') return Number.POSITIVE_INFINITY
  if (group === 'month') return Date.UTC(begin.getUTCFullYear(), begin.getUTCMonth() + 1)
  return begin.getTime() + (group === 'week' ? 7 : 1) * day_ms
}
