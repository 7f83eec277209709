import { Button } from 'react-aria-components'
import { routes } from '../../api/declared/routes.ts'
import { count, longDay } from '../../api/numbers.ts'
import { toDay } from '../../api/range.ts'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import { hasRole } from '../../shell/roles.ts'
import { usePlace } from '../../shell/session.ts'
import { useSetWords, useWords } from '../../shell/words.ts'
import { NewCompany } from './new-company.tsx'
import { OneCompany } from './one-company.tsx'
import type { Company } from './query.ts'
import { texts } from './texts.ts'

const columns: DataColumn<Company>[] = [
  {
    ...{ id: 'name', width: 240, name: texts.name, value: ({ name }: Company) => name },
    cell: ({ company_id, name }) => (
      <PageLink page="companies" words={{ open: company_id }} className="cut">
        {name}
      </PageLink>
    ),
  },
  {
    ...{ id: 'state', name: texts.state, value: ({ status }: Company) => texts[status] },
    cell: ({ status }) => <span className={`pill ${status === 'active' ? 'good' : 'bad'}`}>{texts[status]}</span>,
  },
  { id: 'plan', name: texts.plan, value: ({ plan }) => plan },
  {
    ...{ id: 'quota', numeric: true, name: texts.used, value: ({ monthly_quota }: Company) => monthly_quota },
    cell: ({ monthly_quota }) =>
      monthly_quota === null ? <span className="quiet">{texts.unlimited}</span> : count(monthly_quota),
  },
  ...(['keep_ip_days', 'keep_click_days', 'keep_raw_days'] as const).map((field) => ({
    ...{ id: field, numeric: true, name: texts.keeps[field], value: (one: Company) => one[field] },
    cell: (one: Company) => one[field] ?? <span className="quiet">{texts.forever}</span>,
  })),
  {
    ...{ id: 'made', width: 120, name: texts.made, value: ({ created_at_ms }: Company) => created_at_ms },
    write: ((ms: number) => longDay(toDay(ms))) as never,
  },
]
const idOf = ({ company_id }: Company) => company_id

/** The companies that the person may change: quota and suspension for operators, retention for who manages one. */
export default function Companies() {
  const { me, companies } = usePlace()
  const { open } = useWords()
  const setWords = useSetWords()
  const own = companies.filter(({ company_id }) => hasRole(me, routes.changeCompany.roles, company_id))
  const shown = own.find(({ company_id }) => company_id === open) ?? (own.length === 1 ? own[0] : undefined)
  const makes = hasRole(me, routes.createCompany.roles)
  return (
    <>
      <div className="line">
        <p className="quiet">{texts.help}</p>
        {makes && (
          <Button
            className={open === 'new' ? 'button end' : 'button primary end'}
            aria-expanded={open === 'new'}
            onPress={() => setWords({ open: open === 'new' ? undefined : 'new' })}
          >
            {open === 'new' ? texts.close : texts.newCompany}
          </Button>
        )}
      </div>
      {makes && open === 'new' && <NewCompany />}
      <section className="figure" aria-label={texts.title}>
        <DataTable label={texts.title} columns={columns} items={own} idOf={idOf} empty={texts.none} />
      </section>
      {open !== 'new' && shown !== undefined && <OneCompany key={shown.company_id} company={shown} />}
    </>
  )
}
