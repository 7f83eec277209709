import { Button } from 'react-aria-components'
import { count, time } from '../../api/numbers.ts'
import { Fault } from '../../parts/fault.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { Skeleton } from '../../parts/skeleton.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import { useApp } from '../../shell/session.ts'
import { useSetWords, useWords } from '../../shell/words.ts'
import { OnePartner } from './one-partner.tsx'
import { PartnerForm } from './partner-form.tsx'
import { PartnerState } from './partner-state.tsx'
import { type Partner, usePartners } from './query.ts'
import { texts } from './texts.ts'

const columns: DataColumn<Partner>[] = [
  {
    ...{ id: 'partner', name: texts.partner, value: ({ partner }: Partner) => partner },
    cell: ({ partner }) => (
      <PageLink page="partners" words={{ open: partner }} className="cut">
        {partner}
      </PageLink>
    ),
  },
  {
    id: 'state',
    width: 240,
    name: texts.state,
    value: ({ dead }) => dead,
    cell: (one) => <PartnerState partner={one} />,
  },
  { id: 'events', name: texts.events, value: ({ events }) => events.join(', ') },
  { id: 'due', numeric: true, name: texts.due, value: ({ due }) => due, write: count as never },
  {
    ...{ id: 'oldest', width: 200, name: texts.oldest, value: ({ oldest_due_ms }: Partner) => oldest_due_ms },
    cell: ({ oldest_due_ms }) => (oldest_due_ms === null ? <span className="quiet">-</span> : time(oldest_due_ms)),
  },
  { id: 'dead', numeric: true, name: texts.dead, value: ({ dead }) => dead, write: count as never },
  { id: 'url', width: 400, name: texts.url, value: ({ method, postback_url }) => `${method} ${postback_url}` },
]
const idOf = ({ partner }: Partner) => partner
/** No partner of a link has such a name. */
const new_partner = '+'

/** The partners of an app that are notified of installs and events. One of them opens above the table, with its log. */
export default function Partners() {
  const { app_id } = useApp()
  const { open } = useWords()
  const setWords = useSetWords()
  const { data, error, refetch } = usePartners(app_id)
  const shown = data?.partners.find(({ partner }) => partner === open)
  const isNew = open === new_partner
  return (
    <>
      <div className="line">
        <p className="quiet">
          {texts.help} <a href="/docs/postbacks">{texts.docs}</a>
        </p>
        <Button
          className={isNew ? 'button end' : 'button primary end'}
          aria-expanded={isNew}
          onPress={() => setWords({ open: isNew ? undefined : new_partner })}
        >
          {isNew ? texts.close : texts.newPartner}
        </Button>
      </div>
      {isNew && (
        <section className="card" aria-label={texts.newPartner}>
          <h2>{texts.newPartner}</h2>
          <PartnerForm key={app_id} app_id={app_id} partner={null} onSaved={(partner) => setWords({ open: partner })} />
        </section>
      )}
      {shown !== undefined && <OnePartner key={`${app_id} ${shown.partner}`} partner={shown} />}
      {error !== null && <Fault error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton shape="table" />}
      {data !== undefined && (
        <section className="figure" aria-label={texts.title}>
          <DataTable label={texts.title} columns={columns} items={data.partners} idOf={idOf} empty={texts.none} />
        </section>
      )}
    </>
  )
}
