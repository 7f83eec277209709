import { lazy, useMemo } from 'react'
import { compact, count, exactly, money, none, rate, shortMoney } from '../../api/numbers.ts'
import { LineChart } from '../../parts/figure/charts.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { Figure } from '../../parts/figure/figure.tsx'
import { columnOf, reports } from '../../parts/figure/report-columns.ts'
import { topLines } from '../../parts/figure/top-lines.ts'
import { type Bar, type Source, type Sums, sourcesOf, sumOf, valuesOf } from './chart.ts'
import { useSkan } from './query.ts'
import { texts } from './texts.ts'

const Histogram = lazy(() => import('./histogram.tsx'))

/** What Apple says of ads, apart from all other numbers. */
export default function Skan() {
  const { app_id, query, isIos, days, skan } = useSkan()
  const rows = skan.data?.rows ?? []
  const all = useMemo(() => sumOf(rows), [rows])
  const sources = useMemo(() => sourcesOf(rows), [rows])
  const { points, series } = useMemo(
    () =>
      topLines(rows, days, {
        ...{ nameOf: ({ network }) => network || texts.folded, figureOf: ({ installs }) => installs },
        others: texts.others,
      }),
    [rows, days],
  )
  if (!isIos)
    return (
      <div className="empty">
        <h2>{texts.android}</h2>
        <p>{texts.androidHelp}</p>
      </div>
    )
  const shared = { report: 'skan', app_id, query, asked: skan } as const
  const isEmpty = skan.data !== undefined && rows.length === 0
  return (
    <>
      <p className="quiet">{texts.help}</p>
      {rows.length > 0 && <Tiles all={all} stale={skan.isPlaceholderData} />}
      <Figure
        {...shared}
        id="skan"
        title={texts.byDay}
        help={texts.byDayHelp}
        empty={isEmpty ? <Empty /> : undefined}
        chart={() => (
          <LineChart
            points={points}
            series={series}
            write={count}
            tick={compact}
            summary={`${texts.byDay}: ${count(all.installs)} in ${days.length} days. ${series.map(({ name }) => name).join(', ')}.`}
          />
        )}
        table={() => (
          <DataTable
            label={texts.byDay}
            columns={reports.skan}
            items={rows}
            idOf={(row) => [row.day, row.protocol, row.network, row.source, row.sequence_index].join(' ')}
            empty={texts.none}
          />
        )}
      />
      {rows.length > 0 && (
        <>
          <Values {...shared} values={valuesOf(rows)} all={all} />
          <Figure
            {...shared}
            id="sources"
            title={texts.bySource}
            table={() => (
              <DataTable
                label={texts.bySource}
                columns={columns}
                items={sources}
                idOf={({ protocol, network, source }) => `${protocol} ${network} ${source}`}
                empty={texts.none}
              />
            )}
          />
          {rows.some(({ schema_ambiguous, schema_version }) => schema_ambiguous && schema_version !== null) && (
            <p className="quiet note">{texts.ambiguous}</p>
          )}
          {skan.data?.meta.groups_folded && <p className="quiet note">{texts.groupsFolded}</p>}
        </>
      )}
    </>
  )
}

const Empty = () => (
  <div className="empty">
    <p>{texts.none}</p>
    <p className="quiet">
      {texts.noneHelp} <a href="/docs/skan">{texts.setUp}</a>
    </p>
  </div>
)

function Tiles({ all, stale }: { all: Sums; stale: boolean }) {
  const revenue = all.decoded ? `${shortMoney(all.revenue_min_usd)} – ${shortMoney(all.revenue_max_usd)}` : none
  const exact = all.decoded ? `${money(all.revenue_min_usd)} – ${money(all.revenue_max_usd)}` : none
  const tiles = [
    [texts.installs, count(all.installs), exactly(all.installs)],
    [texts.redownloads, count(all.redownloads), exactly(all.redownloads)],
    [texts.postbacks, count(all.postbacks), texts.postbacksHelp],
    [
      texts.noValue,
      all.postbacks > 0 ? rate(all.cv_null / all.postbacks) : none,
      `${count(all.cv_null)}. ${texts.noValueHelp}`,
    ],
    [texts.revenue, revenue, `${exact}. ${texts.revenueHelp}`],
    [texts.unverified, count(all.unverified), texts.unverifiedHelp],
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

type Shared = Pick<Parameters<typeof Figure>[0], 'report' | 'app_id' | 'query' | 'asked'>

function Values({ values, all, ...shared }: Shared & { values: readonly Bar[]; all: Sums }) {
  const total = values.reduce((sum, { postbacks }) => sum + postbacks, 0)
  const found = values.filter(({ postbacks }) => postbacks > 0)
  const columns: DataColumn<Bar>[] = [
    { id: 'value', name: texts.value, value: ({ value }) => value },
    { ...columnOf<Bar>('postbacks', true), bar: true },
    {
      ...{ id: 'share', name: texts.share, numeric: true, value: ({ postbacks }: Bar) => postbacks / total },
      write: rate as (value: never) => string,
    },
  ]
  return (
    <Figure
      {...shared}
      id="values"
      title={texts.values}
      help={texts.valuesHelp}
      empty={total === 0 ? <p className="empty quiet">{texts.noValues}</p> : undefined}
      chart={() => (
        <>
          <Histogram
            values={values}
            summary={`${texts.values}: ${found.map(({ value, postbacks }) => `${value}: ${count(postbacks)}`).join(', ')}.`}
          />
          <p className="quiet note">
            {texts.coarse(count(all.coarse_low), count(all.coarse_medium), count(all.coarse_high))}
          </p>
        </>
      )}
      table={() => (
        <DataTable
          label={texts.values}
          columns={columns}
          items={found}
          idOf={({ value }) => String(value)}
          empty={texts.noValues}
        />
      )}
    />
  )
}

const figure = (name: keyof Sums & string): DataColumn<Source> => columnOf<Source>(name, true)
const earned = (name: 'revenue_min_usd' | 'revenue_max_usd'): DataColumn<Source> => ({
  ...figure(name),
  value: (row) => (row.decoded ? row[name] : null),
})

const columns: DataColumn<Source>[] = [
  { id: 'network', name: texts.network, value: ({ network }) => network || texts.folded, width: 220 },
  { id: 'source', name: texts.source, value: ({ source }) => source },
  { id: 'protocol', name: texts.protocol, value: ({ protocol }) => protocol },
  { ...figure('installs'), bar: true, width: 190 },
  figure('redownloads'),
  figure('postbacks'),
  earned('revenue_min_usd'),
  earned('revenue_max_usd'),
  figure('unverified'),
  figure('cv_null'),
  figure('coarse_low'),
  figure('coarse_medium'),
  figure('coarse_high'),
]
