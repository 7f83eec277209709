import type { ClickCount, LinkClick } from '@tributary/contracts/admin/rows/clicks'
import { Suspense } from 'react'
import { Button } from 'react-aria-components'
import { serverNow } from '../../api/clock.ts'
import { compact, count, longDay, shortDay, time } from '../../api/numbers.ts'
import { toDay } from '../../api/range.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Fault } from '../../parts/fault.tsx'
import { LineChart, QrCode } from '../../parts/figure/charts.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { Skeleton } from '../../parts/skeleton.tsx'
import { Sure } from '../../parts/sure.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import { useSetWords, useWords } from '../../shell/words.ts'
import { clicksByPeriod } from './chart.ts'
import { LinkState } from './link-state.tsx'
import { type Link, useLinkClicks, useSwitchLink } from './query.ts'
import { texts } from './texts.ts'

const series = [
  { key: 'clicks', name: texts.counted },
  { key: 'filtered', name: texts.filtered, dashed: true },
]

/** What a link leads to, and its clicks. */
export function OneLink({ link, changes }: { link: Link; changes: boolean }) {
  const setWords = useSetWords()
  return (
    <section className="card" aria-label={`${link.partner} ${link.campaign ?? ''}`}>
      <div className="line">
        <h2 className="wrap">{[link.partner, link.campaign].filter((part) => part !== null).join(' · ')}</h2>
        <LinkState link={link} />
        <div className="line end">
          <PageLink page="follow" words={{ link: link.link_id }} className="button small">
            {texts.follow}
          </PageLink>
          {changes && <Switch link={link} />}
          <Button className="button small" onPress={() => setWords({ open: undefined })}>
            {texts.close}
          </Button>
        </div>
      </div>
      <div className="beside">
        <Facts
          facts={[
            [texts.url, link.url === null ? texts.noUrl : <Url key="url" url={link.url} />],
            ...(link.ad_group === null ? [] : ([[texts.adGroup, link.ad_group]] as const)),
            ...(link.creative === null ? [] : ([[texts.creative, link.creative]] as const)),
            [texts.countries, link.countries?.join(', ') ?? texts.allCountries],
            [texts.lookback, link.lookback_hours ?? texts.ofApp],
            [texts.deepLink, link.deep_link],
            [texts.fallback, link.fallback_url ?? texts.store],
            [texts.madeAt, time(link.created_at_ms)],
          ]}
        />
        {link.url !== null && <LinkCode url={link.url} link_id={link.link_id} />}
      </div>
      <Clicks link_id={link.link_id} />
    </section>
  )
}

const LinkCode = ({ url, link_id }: { url: string; link_id: string }) => (
  <Suspense fallback={<Skeleton shape="code" />}>
    <QrCode text={url} label={texts.code} file={link_id} />
  </Suspense>
)

const Url = ({ url }: { url: string }) => (
  <span className="copied">
    <code className="wrap">{url}</code>
    <CopyButton text={url} />
  </span>
)

function Switch({ link: { link_id, partner, campaign, status } }: { link: Link }) {
  const change = useSwitchLink(link_id)
  if (status === 'enabled')
    return (
      <Sure
        action={texts.disable}
        subject={[partner, campaign].filter((part) => part !== null).join(' · ')}
        help={texts.disableHelp}
        work={() => change.mutateAsync(false)}
      />
    )
  return (
    <>
      {change.error !== null && <Fault error={change.error} />}
      <Button className="button small" isPending={change.isPending} onPress={() => change.mutate(true)}>
        {texts.enable}
      </Button>
    </>
  )
}

const clickColumns: DataColumn<LinkClick>[] = [
  {
    id: 'at',
    width: 200,
    name: texts.clicked,
    value: (one) => one.clicked_at_ms,
    cell: (one) => time(one.clicked_at_ms),
  },
  { id: 'country', name: texts.country, value: ({ country }) => country },
  { id: 'os', name: texts.os, value: ({ os }) => os },
  { id: 'reason', name: texts.reason, value: (one) => one.filtered_reason?.replaceAll('_', ' ') ?? null },
  { id: 'external', name: texts.external, value: ({ ext_click_id }) => ext_click_id },
  { id: 'click', width: 330, name: texts.click, value: ({ click_id }) => click_id },
]
const idOfClick = ({ click_id }: LinkClick) => click_id
const idOfCount = ({ since_ms }: ClickCount) => String(since_ms)

const writeHour = (at: string) => `${shortDay(at.slice(0, 10))}, ${at.slice(11)}`

function Clicks({ link_id }: { link_id: string }) {
  const { table } = useWords()
  const setWords = useSetWords()
  const { window, group, clicks } = useLinkClicks(link_id)
  const { data, error } = clicks
  const asTable = table === 'clicks'
  const countColumns: DataColumn<ClickCount>[] = [
    {
      ...{ id: 'since', name: texts.since, value: ({ since_ms }: ClickCount) => since_ms },
      cell: ({ since_ms }) => (group === 'hour' ? time(since_ms) : longDay(toDay(since_ms))),
    },
    { id: 'clicks', name: texts.counted, numeric: true, value: (one) => one.clicks, write: count as never },
    { id: 'filtered', name: texts.filtered, numeric: true, value: (one) => one.filtered, write: count as never },
  ]
  if (data === undefined)
    return error === null ? <Skeleton shape="chart" /> : <Fault error={error} retry={() => void clicks.refetch()} />
  const total = data.counts.reduce((sum, one) => sum + one.clicks, 0)
  return (
    <>
      <header className="figure-head">
        <div>
          <h3>
            {texts.clicks} {group === 'hour' ? texts.byHour : texts.byDay}
          </h3>
          <p className="quiet">{texts.clicksHelp}</p>
        </div>
        {data.counts.length > 0 && (
          <Button
            className="button small"
            onPress={() => setWords({ table: asTable ? undefined : 'clicks' }, { replace: true })}
          >
            {asTable ? texts.chart : texts.table}
          </Button>
        )}
      </header>
      {error !== null && <Fault error={error} retry={() => void clicks.refetch()} />}
      {data.counts.length === 0 && <p className="quiet">{texts.noClicks}</p>}
      {data.counts.length > 0 && (
        <>
          {asTable ? (
            <DataTable label={texts.clicks} columns={countColumns} items={data.counts} idOf={idOfCount} empty="" />
          ) : (
            <Suspense fallback={<Skeleton shape="chart" />}>
              <LineChart
                points={clicksByPeriod(data.counts, window, group, serverNow())}
                series={series}
                write={count}
                tick={compact}
                {...(group === 'hour' && { at: writeHour })}
                summary={`${texts.clicks}: ${count(total)}.`}
              />
            </Suspense>
          )}
          <h3>{texts.newest}</h3>
          <DataTable label={texts.newest} columns={clickColumns} items={data.clicks} idOf={idOfClick} empty="" />
          {data.next_cursor !== null && <p className="quiet">{texts.more(data.clicks.length)}</p>}
        </>
      )}
    </>
  )
}
