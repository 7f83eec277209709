import type { Output } from '../../api/call.ts'
import { changeOf, count, money, none, rate, signed } from '../../api/numbers.ts'
import { Fault } from '../../parts/fault.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { Skeleton } from '../../parts/skeleton.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import { usePlace } from '../../shell/session.ts'
import { Attention } from './attention.tsx'
import { Freshness } from './freshness.tsx'
import { useAllApps } from './query.ts'
import { texts } from './texts.ts'

type AppFigures = Output<'getOverview'>['apps'][number]
type Figure = 'installs' | 'events' | 'revenue_usd' | 'd7_rate'

const figure = (id: Figure, name: string, write: (value: number | null) => string): DataColumn<AppFigures>[] => [
  { id, name, numeric: true, value: ({ tiles }) => tiles[id].now, write: write as (value: never) => string },
  {
    ...{ id: `${id}_change`, name: 'Change', numeric: true },
    value: ({ tiles }) => changeOf(tiles[id].now, tiles[id].before),
    cell: ({ tiles }) => {
      const change = changeOf(tiles[id].now, tiles[id].before)
      if (change === null) return <span className="quiet">{none}</span>
      return (
        <b
          className={`change ${change > 0 ? 'up' : change < 0 ? 'down' : ''}`}
          title={`${texts.before} ${write(tiles[id].before)}`}
        >
          {signed(change)}
        </b>
      )
    },
  },
]

const columns: DataColumn<AppFigures>[] = [
  {
    ...{ id: 'name', name: texts.app, value: ({ name }: AppFigures) => name },
    cell: ({ app_id, name }: AppFigures) => (
      <PageLink page="overview" words={{ app: app_id }}>
        {name}
      </PageLink>
    ),
  },
  ...figure('installs', texts.installs, count),
  ...figure('revenue_usd', texts.revenue, money),
  ...figure('d7_rate', texts.retention, rate),
  ...figure('events', texts.events, count),
]

/** All apps together. Their rates cannot be added. */
function totalOf(apps: readonly AppFigures[]): AppFigures {
  const sum = (id: 'installs' | 'events' | 'revenue_usd') => ({
    now: apps.reduce((all, { tiles }) => all + tiles[id].now, 0),
    before: apps.reduce((all, { tiles }) => all + tiles[id].before, 0),
  })
  const sums = { installs: sum('installs'), events: sum('events'), revenue_usd: sum('revenue_usd') }
  return {
    ...{ company_id: '', app_id: '', name: texts.allApps },
    tiles: { ...sums, d7_rate: { now: null, before: null }, missing_rates: [] },
  }
}

/** Whether all apps grow, and whether something is wrong. */
export default function AllApps() {
  const { apps } = usePlace()
  const asked = useAllApps()
  return (
    <>
      <div className="line">
        <Freshness updated_at_ms={asked.dataUpdatedAt} />
      </div>
      {asked.error !== null && <Fault error={asked.error} retry={() => void asked.refetch()} />}
      {apps.length === 0 ? (
        <div className="empty">
          <p>{texts.noApps}</p>
          <PageLink page="new-app" className="button primary">
            {texts.newApp}
          </PageLink>
        </div>
      ) : asked.data === undefined ? (
        <Skeleton shape="table" />
      ) : (
        <section data-stale={asked.isPlaceholderData || undefined}>
          <DataTable
            label={texts.allApps}
            columns={columns}
            items={asked.data}
            idOf={({ app_id }) => app_id}
            empty={texts.noApps}
            sort={{ column: 'installs', direction: 'descending' }}
            totals={asked.data.length > 1 ? [[texts.allApps, totalOf(asked.data)]] : []}
          />
        </section>
      )}
      <Attention />
    </>
  )
}
