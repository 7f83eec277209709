import { useMemo } from 'react'
import { Button } from 'react-aria-components'
import { routes } from '../../api/declared/routes.ts'
import { count, longDay, time } from '../../api/numbers.ts'
import { toDay } from '../../api/range.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Fault } from '../../parts/fault.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { Skeleton } from '../../parts/skeleton.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import { hasRole } from '../../shell/roles.ts'
import { useApp, usePlace } from '../../shell/session.ts'
import { useSetWords, useWords } from '../../shell/words.ts'
import { LinkState } from './link-state.tsx'
import { NewLink } from './new-link.tsx'
import { OneLink } from './one-link.tsx'
import { type Brought, type Link, useBrought, useLinks } from './query.ts'
import { texts } from './texts.ts'

const columnsOf = (brought: Brought): DataColumn<Link>[] => [
  {
    ...{ id: 'partner', name: texts.partner, value: ({ partner }: Link) => partner },
    cell: ({ partner, link_id }) => (
      <PageLink page="links" words={{ open: link_id }} className="cut">
        {partner}
      </PageLink>
    ),
  },
  { id: 'campaign', name: texts.campaign, value: ({ campaign }) => campaign },
  { id: 'ad_group', name: texts.adGroup, value: ({ ad_group }) => ad_group },
  {
    ...{ id: 'state', width: 200, name: texts.state, value: ({ status }: Link) => status },
    cell: (link) => <LinkState link={link} />,
  },
  ...(['clicks', 'installs'] as const).map((id) => ({
    ...{ id, numeric: true, name: texts[id], bar: id === 'installs' },
    value: ({ link_id }: Link) => brought.get(link_id)?.[id] ?? (brought.size > 0 ? 0 : null),
    write: count as (value: never) => string,
  })),
  { id: 'countries', name: texts.countries, value: ({ countries }) => countries?.join(', ') ?? texts.allCountries },
  {
    ...{ id: 'made', width: 120, name: texts.madeAt, value: ({ created_at_ms }: Link) => created_at_ms },
    cell: ({ created_at_ms }) => <span title={time(created_at_ms)}>{longDay(toDay(created_at_ms))}</span>,
  },
  {
    ...{ id: 'url', width: 330, name: texts.url, value: ({ url }: Link) => url },
    cell: ({ url, partner, campaign }) =>
      url === null ? (
        <span className="quiet">-</span>
      ) : (
        <span className="copied">
          <code className="cut" title={url}>
            {url}
          </code>
          <CopyButton text={url} name={`${texts.url} ${partner} ${campaign ?? ''}`} />
        </span>
      ),
  },
]
const idOf = ({ link_id }: Link) => link_id

/** The links of an app. One of them opens above the table, with its clicks. */
export default function Links() {
  const app = useApp()
  const { me } = usePlace()
  const { open } = useWords()
  const setWords = useSetWords()
  const { data, error, refetch } = useLinks(app.app_id)
  const brought = useBrought(app.app_id)
  const columns = useMemo(() => columnsOf(brought), [brought])
  const changes = hasRole(me, routes.createLink.roles, app.company_id)
  const shown = data?.links.find(({ link_id }) => link_id === open)
  return (
    <>
      <div className="line">
        <p className="quiet">{texts.help}</p>
        {changes && (
          <Button
            className={open === 'new' ? 'button end' : 'button primary end'}
            aria-expanded={open === 'new'}
            onPress={() => setWords({ open: open === 'new' ? undefined : 'new' })}
          >
            {open === 'new' ? texts.close : texts.newLink}
          </Button>
        )}
      </div>
      {changes && open === 'new' && <NewLink key={app.app_id} app={app} />}
      {shown !== undefined && <OneLink key={shown.link_id} link={shown} changes={changes} />}
      {error !== null && <Fault error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton shape="table" />}
      {data !== undefined && (
        <section className="figure" aria-label={texts.title}>
          <DataTable
            label={texts.title}
            columns={columns}
            items={data.links.toReversed()}
            idOf={idOf}
            empty={texts.none}
          />
        </section>
      )}
    </>
  )
}
