import type { ReportRow } from '@tributary/contracts/reports'
import { useMemo } from 'react'
import { compact, count, money, rate } from '../../api/numbers.ts'
import { LineChart } from '../../parts/figure/charts.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { Figure } from '../../parts/figure/figure.tsx'
import { reports } from '../../parts/figure/report-columns.ts'
import { topLines } from '../../parts/figure/top-lines.ts'
import { type EventTotal, totalsOf } from './chart.ts'
import { useEvents } from './query.ts'
import { texts } from './texts.ts'

const idOfRow = (row: { day: string; event_name: string }) => `${row.day} ${row.event_name}`
const idOfTotal = ({ event_name }: EventTotal) => event_name

const linesOf = (rows: readonly ReportRow<'events'>[], days: readonly string[]) =>
  topLines(rows, days, { nameOf: (row) => row.event_name, figureOf: (row) => row.events, others: texts.others })

/** What the app sends: by day and name. */
export default function Events() {
  const { app_id, query, days, events } = useEvents()
  const rows = events.data?.rows ?? []
  const totals = useMemo(() => totalsOf(rows), [rows])
  const { points, series } = useMemo(() => linesOf(rows, days), [rows, days])
  const all = totals.reduce((sum, one) => sum + one.events, 0)
  const columns: DataColumn<EventTotal>[] = [
    { id: 'event_name', name: texts.name, value: ({ event_name }) => event_name },
    { id: 'events', name: texts.events, numeric: true, bar: true, value: (one) => one.events, write: count as never },
    { id: 'share', name: texts.share, numeric: true, value: (one) => one.events / all, write: rate as never },
    { id: 'revenue', name: texts.revenue, numeric: true, value: (one) => one.revenue_usd, write: money as never },
  ]
  return (
    <>
      <Figure
        id="events"
        title={texts.title}
        help={texts.help}
        report="events"
        app_id={app_id}
        query={query}
        asked={events}
        empty={rows.length === 0 ? <p className="empty quiet">{texts.none}</p> : undefined}
        chart={() => (
          <LineChart
            points={points}
            series={series}
            write={count}
            tick={compact}
            summary={`${texts.title}: ${count(all)} in ${days.length} days. ${series.map(({ name }) => name).join(', ')}.`}
          />
        )}
        table={() => (
          <DataTable label={texts.title} columns={reports.events} items={rows} idOf={idOfRow} empty={texts.none} />
        )}
      />
      {totals.length > 0 && (
        <section className="figure" aria-label={texts.totals} data-stale={events.isPlaceholderData || undefined}>
          <h2>{texts.totals}</h2>
          <DataTable
            label={texts.totals}
            columns={columns}
            items={totals}
            idOf={idOfTotal}
            empty={texts.none}
            totals={
              totals.length > 1
                ? [
                    [
                      texts.all,
                      {
                        event_name: '',
                        events: all,
                        revenue_usd: totals.reduce((sum, one) => sum + one.revenue_usd, 0),
                      },
                    ],
                  ]
                : []
            }
          />
        </section>
      )}
    </>
  )
}
