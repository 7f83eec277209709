import { count, time } from '../../api/numbers.ts'
import { Choice } from '../../parts/choice.tsx'
import { Fault } from '../../parts/fault.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { Skeleton } from '../../parts/skeleton.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import { useSetWords, useWords } from '../../shell/words.ts'
import { type Delivery, deliveries_max, type Partner, useDeliveries } from './query.ts'
import { texts } from './texts.ts'

const tones = { delivered: 'good', retry: 'warn', dead: 'bad' } as const

const columns: DataColumn<Delivery>[] = [
  {
    ...{ id: 'at', width: 200, name: texts.at, value: ({ tried_at_ms }: Delivery) => tried_at_ms },
    cell: ({ tried_at_ms }) => time(tried_at_ms),
  },
  { id: 'event', name: texts.event, value: ({ event_name }) => event_name },
  {
    ...{ id: 'outcome', width: 130, name: texts.outcome, value: ({ outcome }: Delivery) => outcome },
    cell: ({ outcome }) => <span className={`pill ${tones[outcome]}`}>{texts.outcomes[outcome]}</span>,
  },
  { id: 'status', width: 90, name: texts.status, value: ({ status }) => status },
  { id: 'reason', name: texts.reason, value: ({ reason }) => reason?.replaceAll('_', ' ') ?? null },
  { id: 'try', width: 80, name: texts.try, numeric: true, value: (one) => one.try },
  {
    ...{ id: 'took', width: 110, name: texts.took, numeric: true, value: ({ elapsed_ms }: Delivery) => elapsed_ms },
    write: count as never,
  },
  {
    ...{ id: 'install', width: 330, name: texts.install, value: ({ install_uuid }: Delivery) => install_uuid },
    cell: ({ install_uuid }) =>
      install_uuid === null ? (
        <span className="quiet">{texts.erased}</span>
      ) : (
        <PageLink page="install" id={install_uuid} className="cut">
          {install_uuid}
        </PageLink>
      ),
  },
  { id: 'answer', width: 260, name: texts.answer, value: ({ answer }) => answer },
]
const idOf = (one: Delivery) => `${one.idempotency_key} ${one.try} ${one.tried_at_ms}`

/** The log of a partner. */
export function Deliveries({ app_id, partner }: Pick<Partner, 'app_id' | 'partner'>) {
  const { tries } = useWords()
  const setWords = useSetWords()
  const { data, error, refetch } = useDeliveries(app_id, partner, tries === 'dead' ? '1' : '0')
  return (
    <section aria-label={texts.deliveries}>
      <header className="figure-head">
        <div>
          <h3>{texts.deliveries}</h3>
          <p className="quiet">{texts.deliveriesHelp(count(deliveries_max))}</p>
        </div>
        <Choice
          label={texts.deliveries}
          quiet
          value={tries === 'dead' ? 'dead' : 'all'}
          options={[
            { id: 'all', name: texts.all },
            { id: 'dead', name: texts.onlyDead },
          ]}
          onChange={(id) => setWords({ tries: id === 'dead' ? id : undefined }, { replace: true })}
        />
      </header>
      {error !== null && <Fault error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton shape="table" />}
      {data !== undefined && (
        <DataTable
          label={texts.deliveries}
          columns={columns}
          items={data.deliveries}
          idOf={idOf}
          empty={texts.noDeliveries}
        />
      )}
    </section>
  )
}
