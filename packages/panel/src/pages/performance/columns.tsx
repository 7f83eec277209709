import type { ReportDimension } from '@tributary/contracts/report-parameters'
import type { ReportRow } from '@tributary/contracts/reports'
import { Button } from 'react-aria-components'
import { serverNow } from '../../api/clock.ts'
import { declaredReports } from '../../api/declared/reports.ts'
import { maturityOf } from '../../api/maturity.ts'
import { count, none } from '../../api/numbers.ts'
import { toDay, type Window } from '../../api/range.ts'
import type { DataColumn } from '../../parts/figure/data-table.tsx'
import { columnOf } from '../../parts/figure/report-columns.ts'
import { PageLink } from '../../shell/page-link.tsx'
import { dayOfFigure, type State } from './state.ts'
import { texts } from './texts.ts'

type Row = ReportRow<'performance'>
type Column = DataColumn<Row>
type Drill = (row: Row, dimension: ReportDimension) => void

const barred = new Set(['revenue_usd', 'cost_usd'])
const helpOf = (figure: string) =>
  declaredReports.performance.columns.find(({ name }) => name === figure)?.description ??
  texts.ofDay(dayOfFigure(figure) ?? 0)

/** Period, dimensions and the chosen figures. */
export function columnsOf(state: State, window: Window, onDrill: Drill): Column[] {
  return [
    ...(state.period === 'none' ? [] : [{ ...columnOf<Row>('day', false), name: texts.periods[state.period] }]),
    ...state.by.map((dimension) => dimensionColumn(dimension, onDrill)),
    ...state.shown.map((figure) => figureColumn(figure, state, window)),
  ]
}

export function nameOf(value: string): string {
  if (value === '') return texts.noValue
  return value === '*' ? texts.noCostValue : value
}

const dimensionColumn = (dimension: ReportDimension, onDrill: Drill): Column => ({
  id: dimension,
  name: texts.dimensions[dimension],
  width: 180,
  value: (row) => row[dimension] ?? '',
  cell: (row) => {
    const name = nameOf(row[dimension] ?? '')
    return (
      <Button className="drill cut" aria-label={texts.drill(name)} onPress={() => onDrill(row, dimension)}>
        {name}
      </Button>
    )
  },
})

function figureColumn(figure: string, state: State, window: Window): Column {
  const column = columnOf<Row>(figure, true, helpOf(figure))
  if (figure === 'installs') return { ...column, cell: (row) => <Installs row={row} state={state} /> }
  const n = dayOfFigure(figure)
  if (n === null) return { ...column, bar: barred.has(figure) }
  const maturity = ({ day }: Row) =>
    maturityOf(day ?? toDay(window.since_ms), day ? state.period : 'none', n, serverNow(), window.until_ms)
  return {
    ...column,
    value: (row) => (maturity(row) === 'not yet' ? null : column.value(row)),
    immature: (row) => maturity(row) !== 'mature',
  }
}

/** What the list of installs can be narrowed to. */
const listed = new Set<ReportDimension>(['partner', 'campaign', 'attribution_type'])

/** A count of installs opens the list of them, where the list can be narrowed to them. */
function Installs({ row, state: { by, filters, period } }: { row: Row; state: State }) {
  const values: State['filters'] = { ...filters }
  for (const one of by) values[one] = row[one] ?? ''
  const entries = Object.entries(values)
  const isListed = entries.every(([one, value]) => listed.has(one as ReportDimension) && value !== '' && value !== '*')
  const text = count(row.installs)
  const isTotal = by.some((one) => row[one] === undefined)
  if (!isListed || isTotal || period !== 'none' || row.installs === 0)
    return row.installs === undefined ? none : <data value={row.installs}>{text}</data>
  return (
    <PageLink page="installs" words={values}>
      {text}
    </PageLink>
  )
}
