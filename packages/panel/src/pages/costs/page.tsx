import { useMemo } from 'react'
import { Button, Form } from 'react-aria-components'
import { routes } from '../../api/declared/routes.ts'
import { longDay, money, shortMoney, time } from '../../api/numbers.ts'
import { LineChart } from '../../parts/figure/charts.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { Figure } from '../../parts/figure/figure.tsx'
import { reports } from '../../parts/figure/report-columns.ts'
import { topLines } from '../../parts/figure/top-lines.ts'
import { TextInput } from '../../parts/text-input.tsx'
import { hasRole } from '../../shell/roles.ts'
import { usePlace } from '../../shell/session.ts'
import { useSetWords, useWords } from '../../shell/words.ts'
import { type Stored, storedOf, totalOf } from './chart.ts'
import { Load } from './load.tsx'
import { useCosts } from './query.ts'
import { texts } from './texts.ts'
import { Upload } from './upload/upload.tsx'

/** What was spent, what of it is here, and how the rest gets here. */
export default function Costs() {
  const { app_id, query, days, costs } = useCosts()
  const { me, app } = usePlace()
  const rows = costs.data?.rows ?? []
  const { points, series, total } = useMemo(
    () =>
      topLines(rows, days, {
        ...{ nameOf: ({ partner }) => partner, figureOf: ({ cost_usd }) => cost_usd },
        ...{ others: texts.others, absent: null },
      }),
    [rows, days],
  )
  const { partner, campaign, ad_group, country } = query
  const isFiltered = [partner, campaign, ad_group, country].some((one) => one !== undefined)
  const none = isFiltered ? texts.noneFits : texts.none
  return (
    <>
      <Filters />
      <Figure
        id="costs"
        title={texts.title}
        help={texts.help}
        report="costs"
        app_id={app_id}
        query={query}
        asked={costs}
        empty={rows.length === 0 ? <p className="empty quiet">{none}</p> : undefined}
        chart={() => (
          <LineChart
            points={points}
            series={series}
            write={money}
            tick={(value) => shortMoney(value)}
            summary={`${texts.title}: ${money(total)} in ${days.length} days. ${series.map(({ name }) => name).join(', ')}.`}
          />
        )}
        table={() => (
          <DataTable
            label={texts.title}
            columns={reports.costs}
            items={rows}
            idOf={(row) => [row.day, row.partner, row.campaign, row.ad_group, row.country, row.currency].join(' ')}
            empty={none}
          />
        )}
      />
      {rows.length > 0 && (
        <section className="figure" aria-label={texts.there} data-stale={costs.isPlaceholderData || undefined}>
          <div>
            <h2>{texts.there}</h2>
            <p className="quiet">{texts.thereHelp}</p>
          </div>
          <There rows={rows} days={days.length} />
        </section>
      )}
      {hasRole(me, routes.uploadCosts.roles, app?.company_id) && <Upload key={app_id} />}
      <Load />
    </>
  )
}

const filters = ['partner', 'campaign', 'ad_group', 'country'] as const
const labels = { partner: texts.partner, campaign: texts.campaign, ad_group: texts.adGroup, country: texts.country }

function Filters() {
  const words = useWords()
  const setWords = useSetWords()
  return (
    <Form
      className="filters"
      key={filters.map((one) => words[one]).join(' ')}
      onSubmit={(event) => {
        event.preventDefault()
        const given = new FormData(event.currentTarget)
        const word = (name: string) => String(given.get(name)).trim() || undefined
        setWords({
          ...Object.fromEntries(filters.map((one) => [one, word(one)])),
          country: word('country')?.toUpperCase(),
        })
      }}
    >
      {filters.map((one) => (
        <TextInput key={one} name={one} label={labels[one]} defaultValue={words[one] ?? ''} />
      ))}
      <Button type="submit" className="button">
        {texts.apply}
      </Button>
    </Form>
  )
}

const idOf = ({ partner, currency }: Stored) => `${partner} ${currency}`

/** What is stored of each partner. */
function There({ rows, days }: { rows: Parameters<typeof storedOf>[0]; days: number }) {
  const setWords = useSetWords()
  const stored = useMemo(() => storedOf(rows), [rows])
  const columns: DataColumn<Stored>[] = [
    {
      ...{ id: 'partner', name: texts.partner, value: ({ partner }: Stored) => partner },
      cell: ({ partner }) => (
        <Button className="drill cut" aria-label={texts.only(partner)} onPress={() => setWords({ partner })}>
          {partner}
        </Button>
      ),
    },
    { id: 'currency', name: texts.currency, value: ({ currency }) => currency },
    {
      ...{ id: 'days', name: texts.days, numeric: true, value: ({ days: known }: Stored) => known.size },
      write: ((known: number) => texts.daysOf(known, days)) as (value: never) => string,
    },
    { id: 'first', name: texts.first, value: ({ first }) => first, write: longDay as (value: never) => string },
    { id: 'last', name: texts.last, value: ({ last }) => last, write: longDay as (value: never) => string },
    {
      ...{ id: 'uploaded', name: texts.uploaded, value: ({ uploaded_at_ms }: Stored) => uploaded_at_ms },
      write: time as (value: never) => string,
    },
    {
      ...{ id: 'cost', name: texts.cost, numeric: true, value: ({ cost }: Stored) => cost },
      cell: ({ cost, currency }) => (currency === '' ? null : <data value={cost}>{money(cost, currency)}</data>),
    },
    {
      ...{ id: 'cost_usd', name: texts.cost_usd, numeric: true, bar: true, value: ({ cost_usd }: Stored) => cost_usd },
      write: money as (value: never) => string,
    },
  ]
  return (
    <DataTable
      label={texts.there}
      columns={columns}
      items={stored}
      idOf={idOf}
      empty={texts.none}
      totals={stored.length > 1 ? [[texts.all, totalOf(stored)]] : []}
    />
  )
}
