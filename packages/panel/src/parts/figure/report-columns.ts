import type { ReportName, ReportRow } from '@tributary/contracts/reports'
import { declaredReports as declared } from '../../api/declared/reports.ts'
import { count, exactly, longDay, money, rate, time } from '../../api/numbers.ts'
import type { DataColumn } from './data-table.tsx'

/** How a column is written, by the end of its name: units are in the names (docs/rules.md#report-rows). */
function writerOf(name: string): ((value: never) => string) | undefined {
  if (name === 'day') return longDay as (value: never) => string
  if (name.endsWith('_usd')) return money as (value: never) => string
  if (/(_rate|roas)$/.test(name)) return rate as (value: never) => string
  if (name.endsWith('_ms')) return time as (value: never) => string
  return undefined
}

/** `d7_rate` is `D7 rate`, `unique_installs` is `Unique installs`. */
export function titleOf(name: string): string {
  const words = name
    .replace(/_usd$/, ' (USD)')
    .replace(/_ms$/, '')
    .replaceAll('_', ' ')
    .replaceAll(/\b(cpi|roas|cv|arpi|arppu)\b/g, (word) => word.toUpperCase())
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`
}

/** The columns of a report as it declares them. A column that it gets appears in its table. */
function columnsOf<Name extends ReportName>(name: Name): DataColumn<ReportRow<Name>>[] {
  return declared[name].columns.map((column) => columnOf(column.name, column.numeric, column.description))
}

/** A column of a report, such as one that rows have only on request. */
export function columnOf<Row extends object>(name: string, numeric: boolean, description = ''): DataColumn<Row> {
  const write = writerOf(name) ?? (numeric ? (fractional(name) as (value: never) => string) : undefined)
  const width = name === 'day' ? 130 : name.endsWith('_ms') ? 220 : undefined
  return {
    id: name,
    name: titleOf(name),
    help: description.replaceAll('`', ''),
    numeric,
    value: (row) => asCell((row as Record<string, unknown>)[name]),
    ...(width !== undefined && { width }),
    ...(write && { write }),
  }
}

const fractional = (name: string) => (name === 'cost' ? exactly : count)
const asCell = (value: unknown): string | number | null =>
  typeof value === 'number' || typeof value === 'string'
    ? value
    : value === null || value === undefined
      ? null
      : JSON.stringify(value)

export const reports = {
  attribution: columnsOf('attribution'),
  revenue: columnsOf('revenue'),
  cohorts: columnsOf('cohorts'),
  events: columnsOf('events'),
  ltv: columnsOf('ltv'),
  costs: columnsOf('costs'),
  receipts: columnsOf('receipts'),
  skan: columnsOf('skan'),
}
