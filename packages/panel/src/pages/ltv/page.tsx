import { serverNow } from '../../api/clock.ts'
import { money } from '../../api/numbers.ts'
import { LineChart } from '../../parts/charts.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { Figure } from '../../parts/figure.tsx'
import { reports } from '../../parts/report-columns.ts'
import { costPerInstall, curvesOf } from './chart.ts'
import { ltvDays, useLtv } from './query.ts'
import { texts } from './texts.ts'

/** Which partners earn their cost back, and when. */
export default function Ltv() {
  const { app_id, query, ltv, costs } = useLtv()
  const rows = ltv.data?.rows ?? []
  const { series, points } = curvesOf(rows, ltvDays, serverNow())
  const cost = costPerInstall(rows, costs.data?.rows ?? [])
  return (
    <Figure
      id="ltv"
      title={texts.title}
      help={texts.help}
      report="ltv"
      app_id={app_id}
      query={query}
      asked={ltv}
      empty={
        points.length === 0 ? <p className="empty quiet">{rows.length === 0 ? texts.none : texts.young}</p> : undefined
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
  )
}
