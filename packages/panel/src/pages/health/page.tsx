import { routes } from '../../api/declared/routes.ts'
import { count, rate } from '../../api/numbers.ts'
import { Fault } from '../../parts/fault.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { hasRole } from '../../shell/roles.ts'
import { usePlace } from '../../shell/session.ts'
import { Attention } from '../overview/attention.tsx'
import { DeadLetters } from './dead-letters.tsx'
import { type CompanyUse, useCompanyUses } from './query.ts'
import { System } from './system.tsx'
import { texts } from './texts.ts'

/** Is it accepting, fresh, exact; who is loud? Operators see the service, others their companies. */
export default function Health() {
  const { me, companies } = usePlace()
  const operator = hasRole(me, routes.getStatus.roles)
  const shown = companies.filter(({ company_id }) => hasRole(me, routes.getCompanyUsage.roles, company_id))
  return (
    <>
      <Attention />
      {operator && <System />}
      {operator && <DeadLetters />}
      <Quotas companies={shown} />
    </>
  )
}

const columns: DataColumn<CompanyUse>[] = [
  { id: 'name', name: texts.company, value: ({ name }) => name },
  { id: 'plan', name: texts.plan, value: ({ plan }) => plan },
  {
    ...{ id: 'status', name: texts.state, value: ({ status }: CompanyUse) => status },
    cell: ({ status }) => <span className={`pill ${status === 'active' ? 'good' : 'bad'}`}>{texts[status]}</span>,
  },
  { id: 'used', name: texts.used, numeric: true, value: ({ use }) => use?.used ?? null, write: count as never },
  {
    id: 'rejected',
    name: texts.rejected,
    numeric: true,
    value: ({ use }) => use?.rejected ?? null,
    write: count as never,
  },
  {
    ...{ id: 'quota', name: texts.quota, numeric: true, value: ({ monthly_quota }: CompanyUse) => monthly_quota },
    cell: ({ monthly_quota }) =>
      monthly_quota === null ? <span className="quiet">{texts.unlimited}</span> : count(monthly_quota),
  },
  { id: 'share', name: texts.share, numeric: true, value: shareOf, write: rate as never },
]
const idOf = ({ company_id }: CompanyUse) => company_id

function shareOf({ use }: CompanyUse): number | null {
  return use === undefined || use.monthly_quota === null || use.monthly_quota === 0
    ? null
    : use.used / use.monthly_quota
}

/** More requests than this at once would be loud themselves. */
const companies_max = 40

function Quotas({ companies }: { companies: Parameters<typeof useCompanyUses>[0] }) {
  const { uses, error, refetch } = useCompanyUses(companies.slice(0, companies_max))
  const others = companies.length - uses.length
  return (
    <section className="figure" aria-label={texts.companies}>
      <h2>{texts.companies}</h2>
      {error !== null && <Fault error={error} retry={refetch} />}
      <DataTable
        label={texts.companies}
        columns={columns}
        items={uses}
        idOf={idOf}
        empty={texts.none}
        sort={{ column: 'share', direction: 'descending' }}
      />
      {others > 0 && <p className="quiet">{texts.others(others)}</p>}
    </section>
  )
}
