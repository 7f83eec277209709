import type { ReportRow } from '@tributary/contracts/reports'
import type { Output } from '../../api/call.ts'
import { count, rate } from '../../api/numbers.ts'
import { Fault } from '../../parts/fault.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { Figure } from '../../parts/figure/figure.tsx'
import { Part } from '../../parts/figure/part.tsx'
import { columnOf } from '../../parts/figure/report-columns.ts'
import { Skeleton } from '../../parts/skeleton.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import { useFraud } from './query.ts'
import { texts } from './texts.ts'

type Row = ReportRow<'performance'>
type Flagged = Output<'getFraud'>['installs'][number]
type Filtered = Output<'getFraud'>['clicks'][number]

const OfPartner = ({ partner }: { partner: string }) => (
  <PageLink page="installs" words={{ partner, flagged: 'true' }} className="cut">
    <span title={texts.open(partner)}>{partner}</span>
  </PageLink>
)
const ratio = rate as (value: never) => string
const whole = count as (value: never) => string

const partnerColumns: DataColumn<Row>[] = [
  {
    ...{ id: 'partner', name: texts.partner, value: ({ partner }: Row) => partner ?? '' },
    cell: ({ partner = '', fraud_flagged }) => (fraud_flagged > 0 ? <OfPartner partner={partner} /> : partner),
  },
  columnOf<Row>('installs', true),
  { ...columnOf<Row>('fraud_flagged', true), name: texts.flagged },
  {
    ...{ id: 'share', name: texts.share, numeric: true, bar: true, write: ratio },
    value: ({ installs, fraud_flagged }) => (installs > 0 ? fraud_flagged / installs : null),
  },
]

const flagColumns: DataColumn<Flagged>[] = [
  {
    ...{ id: 'partner', name: texts.partner, value: ({ partner }: Flagged) => partner },
    cell: ({ partner }) => <OfPartner partner={partner} />,
  },
  { id: 'reason', name: texts.flag, value: ({ reason }) => reason.replaceAll('_', ' ') },
  { id: 'means', name: texts.means, width: 420, value: ({ reason }) => texts.flags[reason] ?? null },
  { id: 'installs', name: texts.installs, numeric: true, bar: true, value: ({ installs }) => installs, write: whole },
]

const clickColumns: DataColumn<Filtered>[] = [
  { id: 'partner', name: texts.partner, value: ({ partner }) => partner },
  { id: 'reason', name: texts.reason, value: ({ reason }) => reason.replaceAll('_', ' ') },
  { id: 'means', name: texts.means, width: 420, value: ({ reason }) => texts.filtered[reason] },
  { id: 'clicks', name: texts.clicks, numeric: true, bar: true, value: ({ clicks }) => clicks, write: whole },
]

const idOf = ({ partner, reason }: Flagged | Filtered) => `${partner} ${reason}`

/** Whose installs look made up, and why. */
export default function Fraud() {
  const { app_id, query, partners, fraud } = useFraud()
  const { data, error, isPlaceholderData, refetch } = fraud
  return (
    <>
      <Figure
        id="fraud"
        title={texts.title}
        help={texts.help}
        report="performance"
        app_id={app_id}
        query={query}
        asked={partners}
        table={() => (
          <DataTable
            label={texts.title}
            columns={partnerColumns}
            items={partners.data?.rows ?? []}
            idOf={({ partner }) => partner ?? ''}
            empty={texts.noInstalls}
            totals={partners.data ? [[texts.all, partners.data.meta.totals as Row]] : []}
          />
        )}
      />
      {error !== null && <Fault error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton shape="table" />}
      {data !== undefined && (
        <>
          <Part title={texts.byFlag} help={texts.byFlagHelp} stale={isPlaceholderData}>
            <DataTable
              label={texts.byFlag}
              columns={flagColumns}
              items={data.installs}
              idOf={idOf}
              empty={texts.none}
            />
          </Part>
          <Part title={texts.clicks} help={texts.clicksHelp} stale={isPlaceholderData}>
            <DataTable
              label={texts.clicks}
              columns={clickColumns}
              items={data.clicks}
              idOf={idOf}
              empty={texts.noClicks}
            />
          </Part>
        </>
      )}
    </>
  )
}
