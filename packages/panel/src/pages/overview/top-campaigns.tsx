import type { ReportRow } from '@tributary/contracts/reports'
import { none } from '../../api/numbers.ts'
import { LaterTable } from '../../parts/figure/charts.tsx'
import { Figure } from '../../parts/figure/figure.tsx'
import { columnOf } from '../../parts/figure/report-columns.ts'
import { PageLink } from '../../shell/page-link.tsx'
import type { App } from '../../shell/session.ts'
import { useTopCampaigns } from './query.ts'
import { texts } from './texts.ts'

type Row = ReportRow<'performance'>

const columns = [
  columnOf<Row>('partner', false),
  columnOf<Row>('campaign', false),
  ...['installs', 'revenue_usd', 'cost_usd', 'cpi_usd', 'roas'].map((name) => ({
    ...columnOf<Row>(name, true),
    bar: name === 'cost_usd',
  })),
]

/** The start of the page Performance. */
export function TopCampaigns({ app, hasCosts }: { app: App; hasCosts: boolean | null }) {
  const { query, sort, campaigns } = useTopCampaigns(app.app_id, hasCosts)
  const rows = campaigns.data?.rows ?? []
  if (campaigns.data !== undefined && rows.length === 0) return null
  return (
    <Figure
      id="campaigns"
      title={texts.campaigns}
      help={texts.campaignsHelp(sort === '-cost_usd')}
      report="performance"
      app_id={app.app_id}
      query={query}
      asked={campaigns}
      first
      tools={
        <PageLink page="performance" words={{ sort }} className="button small">
          {texts.allCampaigns}
        </PageLink>
      }
      table={() => (
        <LaterTable
          label={texts.campaigns}
          columns={columns}
          items={rows}
          idOf={({ partner, campaign }) => `${partner} ${campaign}`}
          empty={none}
        />
      )}
    />
  )
}
