import { useMemo } from 'react'
import { compact, count, exactly, money, none, rate, shortMoney } from '../../api/numbers.ts'
import { LineChart } from '../../parts/figure/charts.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { Figure } from '../../parts/figure/figure.tsx'
import { reports } from '../../parts/figure/report-columns.ts'
import { topLines } from '../../parts/figure/top-lines.ts'
import { ReceiptWords, verdictKinds } from '../../parts/receipt-words.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import { type Judged, judgedOf, type Sums, sumOf } from './chart.ts'
import { useReceipts } from './query.ts'
import { texts } from './texts.ts'

/** What the stores say of receipts, and what it does to money. */
export default function Receipts() {
  const { app_id, query, days, validOnly, receipts } = useReceipts()
  const rows = receipts.data?.rows ?? []
  const all = useMemo(() => sumOf(rows), [rows])
  const judged = useMemo(() => judgedOf(rows), [rows])
  const { points, series } = useMemo(
    () =>
      topLines(rows, days, {
        nameOf: ({ verdict }) => verdict,
        figureOf: ({ events }) => events,
        others: texts.others,
      }),
    [rows, days],
  )
  const isEmpty = receipts.data !== undefined && rows.length === 0
  return (
    <>
      <p className="quiet">
        {texts.help} <a href="/docs/receipts">{texts.more}</a>
      </p>
      {rows.length > 0 && <Tiles all={all} stale={receipts.isPlaceholderData} />}
      <p className="quiet note">
        {validOnly ? texts.validOnly : texts.unverifiedCounts}{' '}
        <PageLink page="apps" words={{ open: app_id }}>
          {texts.change}
        </PageLink>
      </p>
      <Figure
        id="receipts"
        title={texts.byDay}
        help={texts.byDayHelp}
        report="receipts"
        app_id={app_id}
        query={query}
        asked={receipts}
        empty={isEmpty ? <Empty /> : undefined}
        chart={() => (
          <LineChart
            points={points}
            series={series}
            write={count}
            tick={compact}
            summary={`${texts.byDay}: ${count(all.events)} in ${days.length} days. ${series.map(({ name }) => name).join(', ')}.`}
          />
        )}
        table={() => (
          <DataTable
            label={texts.byDay}
            columns={reports.receipts}
            items={rows}
            idOf={({ day, store, verdict, reason }) => [day, store, verdict, reason].join(' ')}
            empty={texts.none}
          />
        )}
      />
      {rows.length > 0 && (
        <section className="figure" aria-label={texts.byReason} data-stale={receipts.isPlaceholderData || undefined}>
          <h2>{texts.byReason}</h2>
          <DataTable
            label={texts.byReason}
            columns={columns}
            items={judged}
            idOf={({ verdict, reason }) => `${verdict} ${reason}`}
            empty={texts.none}
            totals={judged.length > 1 ? [[texts.all, { ...all, verdict: 'valid', reason: null }]] : []}
          />
          <ReceiptWords judged={judged} />
        </section>
      )}
    </>
  )
}

const Empty = () => (
  <div className="empty">
    <p>{texts.none}</p>
    <p className="quiet">
      {texts.noneHelp} <a href="/docs/receipts#the-receipt-of-an-event">{texts.setUp}</a>
    </p>
  </div>
)

function Tiles({ all, stale }: { all: Sums; stale: boolean }) {
  const { events, verdicts, revenue_told_usd, revenue_counted_usd } = all
  const share = (verdict: keyof Sums['verdicts'], help: string) =>
    [rate(verdicts[verdict] / events), `${count(verdicts[verdict])}. ${help}`] as const
  const tiles = [
    [texts.receipts, count(events), exactly(events)],
    [texts.valid, ...share('valid', texts.validHelp)],
    [texts.invalid, ...share('invalid', texts.invalidHelp)],
    [texts.unverified, ...share('unverified', texts.unverifiedHelp)],
    [texts.sandbox, ...share('sandbox', texts.sandboxHelp)],
    [
      texts.counted,
      shortMoney(revenue_counted_usd),
      `${money(revenue_counted_usd)}. ${texts.countedHelp(money(revenue_told_usd))}`,
    ],
  ] as const
  return (
    <section className="tiles plain" aria-label={texts.figures}>
      {tiles.map(([name, value, help]) => (
        <div key={name} className="tile" title={help} data-stale={stale || undefined}>
          <h2>{name}</h2>
          <p className="tile-value">{value}</p>
        </div>
      ))}
    </section>
  )
}

const columns: DataColumn<Judged>[] = [
  {
    ...{ id: 'verdict', name: texts.verdict, value: ({ verdict }: Judged) => verdict },
    cell: ({ verdict }) => <span className={`pill ${verdictKinds[verdict]}`}>{verdict}</span>,
  },
  { id: 'reason', name: texts.reason, value: ({ reason }) => reason?.replaceAll('_', ' ') ?? none },
  { id: 'events', name: texts.events, numeric: true, bar: true, value: ({ events }) => events, write: count as never },
  {
    ...{ id: 'stated', name: texts.stated, numeric: true, value: (one: Judged) => one.revenue_told_usd },
    write: money as never,
  },
  {
    ...{ id: 'counted', name: texts.countedColumn, numeric: true, value: (one: Judged) => one.revenue_counted_usd },
    write: money as never,
  },
]
