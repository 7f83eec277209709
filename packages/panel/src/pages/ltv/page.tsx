import { serverNow } from '../../api/clock.ts'
import { count, money, none } from '../../api/numbers.ts'
import { LineChart } from '../../parts/figure/charts.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { Figure } from '../../parts/figure/figure.tsx'
import { reports } from '../../parts/figure/report-columns.ts'
import { costPerInstall, curvesOf, type Return, returnsOf } from './chart.ts'
import { ltvDays, useLtv } from './query.ts'
import { texts } from './texts.ts'

const value = (id: 'cpi_usd' | 'd7' | 'd30', name: string): DataColumn<Return> => ({
  ...{ id, name, numeric: true, value: (one: Return) => one[id] },
  write: money as (value: never) => string,
})

const columns: DataColumn<Return>[] = [
  { id: 'partner', name: texts.partner, value: ({ partner }) => partner },
  {
    ...{ id: 'installs', name: texts.installs, numeric: true, value: ({ installs }: Return) => installs },
    write: count as (value: never) => string,
  },
  value('cpi_usd', texts.cpi),
  value('d7', texts.d7),
  value('d30', texts.d30),
  {
    ...{ id: 'earned', name: texts.earned, value: ({ earned_by }: Return) => earned_by },
    cell: ({ cpi_usd, earned_by, known_until }) =>
      cpi_usd === null || known_until === null ? (
        <span className="quiet">{none}</span>
      ) : earned_by === null ? (
        texts.notBy(known_until)
      ) : (
        <span className="pill good">{texts.by(earned_by)}</span>
      ),
  },
]

/** Which partners earn their cost back, and when. */
export default function Ltv() {
  const { app_id, query, ltv, costs } = useLtv()
  const rows = ltv.data?.rows ?? []
  const { series, points } = curvesOf(rows, ltvDays, serverNow())
  const cost = costPerInstall(rows, costs.data?.rows ?? [])
  return (
    <>
      <Figure
        id="ltv"
        title={texts.title}
        help={texts.help}
        report="ltv"
        app_id={app_id}
        query={query}
        asked={ltv}
        empty={
          points.length === 0 ? (
            <p className="empty quiet">{rows.length === 0 ? texts.none : texts.young}</p>
          ) : undefined
        }
        chart={() => (
          <>
            <LineChart
              points={points}
              series={series}
              at={texts.day}
              scaled
              write={money}
              mark={cost === null ? null : { value: cost, name: texts.cost(money(cost)) }}
              summary={`${texts.title}: ${series.map(({ name }) => name).join(', ')}.`}
            />
            <p className="quiet note">{texts.immature}</p>
          </>
        )}
        table={() => (
          <DataTable
            label={texts.title}
            columns={reports.ltv}
            items={rows}
            idOf={(row) => `${row.day} ${row.partner}`}
            empty={texts.none}
          />
        )}
      />
      {rows.length > 0 && costs.data !== undefined && (
        <section className="figure" aria-label={texts.returns} data-stale={ltv.isPlaceholderData || undefined}>
          <div>
            <h2>{texts.returns}</h2>
            <p className="quiet">{texts.returnsHelp}</p>
          </div>
          <DataTable
            label={texts.returns}
            columns={columns}
            items={returnsOf(rows, costs.data.rows, ltvDays, serverNow())}
            idOf={({ partner }) => partner}
            empty={texts.none}
          />
        </section>
      )}
    </>
  )
}
