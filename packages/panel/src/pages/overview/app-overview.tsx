import { lazy, Suspense } from 'react'
import { serverNow } from '../../api/clock.ts'
import { isOpen } from '../../api/maturity.ts'
import { count, rate, shortMoney } from '../../api/numbers.ts'
import { day_ms } from '../../api/range.ts'
import { Fault } from '../../parts/fault.tsx'
import { LaterTable, LineChart } from '../../parts/figure/charts.tsx'
import { Figure } from '../../parts/figure/figure.tsx'
import { costBefore, daysWithoutCost, paidOf } from '../../parts/figure/paid.ts'
import { reports } from '../../parts/figure/report-columns.ts'
import { topLines } from '../../parts/figure/top-lines.ts'
import type { App } from '../../shell/session.ts'
import { Attention } from './attention.tsx'
import { byDay } from './chart.ts'
import { Freshness } from './freshness.tsx'
import { useOverview } from './query.ts'
import { Quota } from './quota.tsx'
import { texts } from './texts.ts'
import { Tile } from './tile.tsx'
import { TopCampaigns } from './top-campaigns.tsx'

const FirstEvent = lazy(async () => ({ default: (await import('../../parts/first-event.tsx')).FirstEvent }))

/** The figures of an app, and what needs attention. */
export function AppOverview({ app }: { app: App }) {
  const asked = useOverview(app.app_id)
  const { window, tiles, days, installs, revenue, cohorts, events, partners, partnersBefore, query } = asked
  const figures = tiles.data?.tiles
  const over = days.filter((day) => !isOpen(day, 'day', serverNow()))
  const stale = tiles.isPlaceholderData
  const partnerDays = partners.data?.rows
  const paid = partnerDays && paidOf(partnerDays)
  const uncosted = partnerDays === undefined ? 0 : daysWithoutCost(partnerDays, window, serverNow())
  const costEarlier =
    partnerDays === undefined || partnersBefore.data === undefined || partnersBefore.isPlaceholderData
      ? undefined
      : costBefore(partnersBefore.data.rows, partnerDays, window)
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
      {partners.error !== null && <Fault error={partners.error} retry={() => void partners.refetch()} />}
      {tiles.error !== null && <Fault error={tiles.error} retry={() => void tiles.refetch()} />}
      {isNew && (
        <section className="figure">
          <h2>{texts.empty}</h2>
          <p className="quiet">{texts.emptyHelp}</p>
          <Suspense>
            <FirstEvent app={app} />
          </Suspense>
        </section>
      )}
      <section className="tiles" aria-label="Figures">
        <Tile
          name={texts.installs}
          {...(figures?.installs ?? { now: undefined, before: undefined })}
          write={count}
          stale={stale}
          failed={tiles.error !== null}
          course={installs.data && byDay(installs.data.rows, over, (row) => row.installs)}
        />
        <Tile
          name={texts.revenue}
          {...(figures?.revenue_usd ?? { now: undefined, before: undefined })}
          write={shortMoney}
          stale={stale}
          failed={tiles.error !== null}
          course={revenue.data && byDay(revenue.data.rows, over, (row) => row.revenue_usd)}
        />
        <Tile
          name={texts.cost}
          help={texts.costHelp}
          now={paid === null ? null : paid?.cost_usd}
          before={costEarlier}
          write={shortMoney}
          neutral
          stale={partners.isPlaceholderData}
          failed={partners.error !== null}
          course={partnerDays && byDay(partnerDays, over, (row) => row.cost_usd, null)}
        />
        <Tile
          name={texts.roas}
          help={texts.roasHelp}
          now={paid === null ? null : paid?.roas}
          note={paid === null ? texts.noCosts : texts.roasNote(paid?.partners ?? 0)}
          write={rate}
          stale={partners.isPlaceholderData}
          failed={partners.error !== null}
        />
        <Tile
          name={texts.retention}
          help={texts.d7Help}
          {...(figures?.d7_rate ?? { now: undefined, before: undefined })}
          write={rate}
          stale={stale}
          failed={tiles.error !== null}
          course={
            cohorts.data &&
            byDay(cohorts.data.rows, over, ({ day, d7_rate }) => (isWeekOver(day) ? d7_rate : null), null)
          }
        />
        <Tile
          name={texts.events}
          {...(figures?.events ?? { now: undefined, before: undefined })}
          write={count}
          stale={stale}
          failed={tiles.error !== null}
          course={events.data && byDay(events.data.rows, over, (row) => row.events)}
        />
      </section>
      <p className="quiet note">
        {texts.counts} {uncosted > 0 && texts.uncosted(uncosted)}
      </p>
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
      <TopCampaigns app={app} hasCosts={paid === undefined ? null : paid !== null} />
      <Attention app={app} />
    </>
  )
}

/** Whether day 7 is over for all installs of a day: before, its rate is too low. */
const isWeekOver = (day: string): boolean => Date.parse(`${day}T00:00:00Z`) + 9 * day_ms <= serverNow()
