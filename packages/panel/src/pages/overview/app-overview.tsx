import { serverNow } from '../../api/clock.ts'
import { count, rate, shortMoney } from '../../api/numbers.ts'
import { day_ms } from '../../api/range.ts'
import { LaterTable, LineChart } from '../../parts/charts.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Figure } from '../../parts/figure.tsx'
import { FirstEvent } from '../../parts/first-event.tsx'
import { reports } from '../../parts/report-columns.ts'
import { topLines } from '../../parts/top-lines.ts'
import type { App } from '../../shell/session.ts'
import { Attention } from './attention.tsx'
import { byDay, returnOf } from './chart.ts'
import { Freshness } from './freshness.tsx'
import { useOverview } from './query.ts'
import { Quota } from './quota.tsx'
import { texts } from './texts.ts'
import { Tile } from './tile.tsx'
import { TopCampaigns } from './top-campaigns.tsx'

/** The figures of an app, and what needs attention. */
export function AppOverview({ app }: { app: App }) {
  const asked = useOverview(app.app_id)
  const { tiles, days, installs, revenue, cohorts, events, costs, costsBefore, revenueBefore, query } = asked
  const figures = tiles.data?.tiles
  const stale = tiles.isPlaceholderData
  const spent = costs.data && revenue.data && returnOf(costs.data.rows, revenue.data.rows)
  const spentBefore = costsBefore.data && revenueBefore.data && returnOf(costsBefore.data.rows, revenueBefore.data.rows)
  const isNew = figures !== undefined && figures.events.now === 0 && figures.events.before === 0
  const { points, series, total } = topLines(installs.data?.rows ?? [], days, {
    nameOf: (row) => row.partner,
    figureOf: (row) => row.installs,
    others: texts.others,
  })
  return (
    <>
      <div className="line">
        <Freshness updated_at_ms={tiles.dataUpdatedAt} />
        <div className="end">{tiles.data?.quota && <Quota {...tiles.data.quota} />}</div>
      </div>
      {tiles.error !== null && <Fault error={tiles.error} retry={() => void tiles.refetch()} />}
      {isNew && (
        <section className="figure">
          <h2>{texts.empty}</h2>
          <p className="quiet">{texts.emptyHelp}</p>
          <FirstEvent app={app} />
        </section>
      )}
      <section className="tiles" aria-label="Figures">
        <Tile
          name={texts.installs}
          {...(figures?.installs ?? { now: undefined, before: undefined })}
          write={count}
          stale={stale}
          course={installs.data && byDay(installs.data.rows, days, (row) => row.installs)}
        />
        <Tile
          name={texts.revenue}
          {...(figures?.revenue_usd ?? { now: undefined, before: undefined })}
          write={shortMoney}
          stale={stale}
          course={revenue.data && byDay(revenue.data.rows, days, (row) => row.revenue_usd)}
        />
        <Tile
          name={texts.cost}
          help={texts.costHelp}
          now={spent?.cost_usd}
          before={spentBefore?.cost_usd}
          write={shortMoney}
          neutral
          stale={costs.isPlaceholderData}
          course={costs.data && byDay(costs.data.rows, days, (row) => row.cost_usd)}
        />
        <Tile
          name={texts.roas}
          help={texts.roasHelp}
          now={spent?.roas}
          before={spentBefore?.roas}
          write={rate}
          stale={costs.isPlaceholderData}
        />
        <Tile
          name={texts.retention}
          help={texts.d7Help}
          {...(figures?.d7_rate ?? { now: undefined, before: undefined })}
          write={rate}
          stale={stale}
          course={
            cohorts.data &&
            byDay(cohorts.data.rows, days, ({ day, d7_rate }) => (isWeekOver(day) ? d7_rate : null), null)
          }
        />
        <Tile
          name={texts.events}
          {...(figures?.events ?? { now: undefined, before: undefined })}
          write={count}
          stale={stale}
          course={events.data && byDay(events.data.rows, days, (row) => row.events)}
        />
      </section>
      <Figure
        id="partners"
        title={texts.byPartner}
        help={texts.byPartnerHelp}
        report="attribution"
        app_id={app.app_id}
        query={query}
        asked={installs}
        empty={total === 0 ? <p className="empty quiet">{texts.noInstalls}</p> : undefined}
        chart={() => (
          <LineChart
            points={points}
            series={series}
            write={count}
            summary={`${texts.byPartner}: ${count(total)} in ${days.length} days. ${series.map(({ name }) => name).join(', ')}.`}
          />
        )}
        table={() => (
          <LaterTable
            label={texts.byPartner}
            columns={reports.attribution}
            items={installs.data?.rows ?? []}
            idOf={(row) => `${row.day} ${row.attribution_type} ${row.partner}`}
            empty={texts.noInstalls}
          />
        )}
      />
      <TopCampaigns app={app} costs={costs.data?.rows.length ?? null} />
      <Attention app={app} />
    </>
  )
}

/** Whether day 7 is over for all installs of a day: before, its rate is too low. */
const isWeekOver = (day: string): boolean => Date.parse(`${day}T00:00:00Z`) + 9 * day_ms <= serverNow()
