import { Button } from 'react-aria-components'
import { routes } from '../../api/declared/routes.ts'
import { longDay, time } from '../../api/numbers.ts'
import { toDay } from '../../api/range.ts'
import { Choice } from '../../parts/choice.tsx'
import { Fault } from '../../parts/fault.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { Skeleton } from '../../parts/skeleton.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import { hasRole } from '../../shell/roles.ts'
import { usePlace } from '../../shell/session.ts'
import { useSetWords, useWords } from '../../shell/words.ts'
import { Invite } from './invite.tsx'
import { OnePerson } from './one-person.tsx'
import { type Person, usePeople } from './query.ts'
import { texts } from './texts.ts'

const idOf = ({ person_id, company_id, email }: Person) => `${person_id} ${email} ${company_id ?? ''}`

/** Who may do what: operators see everybody, owners the people of their company. */
export default function People() {
  const { me, companies, company, apps } = usePlace()
  const { open } = useWords()
  const setWords = useSetWords()
  const operator = hasRole(me, routes.resetPerson.roles)
  const own = companies.filter(({ company_id }) => hasRole(me, routes.listPeople.roles, company_id))
  const current = own.find(({ company_id }) => company_id === company?.company_id) ?? own[0]
  const people = usePeople(operator ? undefined : current?.company_id)
  const { data, error } = people
  const nameOf = (id: string | null) =>
    id === null ? texts.everything : (companies.find(({ company_id }) => company_id === id)?.name ?? id)
  const appName = (id: string) => apps.find(({ app_id }) => app_id === id)?.name ?? id
  const shown = data?.people.find((one) => idOf(one) === open)
  return (
    <>
      <div className="line">
        <p className="quiet">{texts.help}</p>
        {!operator && own.length > 1 && current !== undefined && (
          <Choice
            label={texts.company}
            quiet
            value={current.company_id}
            options={own.map(({ company_id, name }) => ({ id: company_id, name }))}
            onChange={(id) => setWords({ company: id, app: undefined, open: undefined })}
          />
        )}
        <Button
          className={open === 'new' ? 'button end' : 'button primary end'}
          aria-expanded={open === 'new'}
          onPress={() => setWords({ open: open === 'new' ? undefined : 'new' })}
        >
          {open === 'new' ? texts.close : texts.invite}
        </Button>
      </div>
      {open === 'new' && <Invite company_id={current?.company_id} />}
      {shown !== undefined && <OnePerson key={open} person={shown} where={nameOf(shown.company_id)} />}
      {error !== null && <Fault error={error} retry={() => void people.refetch()} />}
      {data === undefined && error === null && <Skeleton shape="table" />}
      {data !== undefined && (
        <section className="figure" aria-label={texts.title}>
          <DataTable
            label={texts.title}
            columns={columnsOf(nameOf, appName)}
            items={data.people}
            idOf={idOf}
            empty={texts.none}
          />
        </section>
      )}
    </>
  )
}

const columnsOf = (nameOf: (id: string | null) => string, appName: (id: string) => string): DataColumn<Person>[] => [
  {
    ...{ id: 'email', width: 260, name: texts.email, value: ({ email }: Person) => email },
    cell: (person) => (
      <PageLink page="people" words={{ open: idOf(person) }} className="cut">
        {person.email}
      </PageLink>
    ),
  },
  { id: 'role', name: texts.role, value: ({ role }) => role },
  { id: 'company', name: texts.company, value: ({ company_id }) => nameOf(company_id) },
  {
    ...{ id: 'apps', name: texts.apps },
    value: (one) => (one.company_id === null ? null : (one.apps?.map(appName).join(', ') ?? texts.allApps)),
  },
  {
    ...{ id: 'state', name: texts.state, value: ({ status }: Person) => status },
    cell: ({ status }) => (
      <span className={`pill ${status === 'active' ? 'good' : 'warn'}`}>
        {status === 'active' ? texts.active : texts.waits}
      </span>
    ),
  },
  {
    ...{ id: 'factor', name: texts.factor },
    value: ({ status, second_factor }) => (status === 'invited' ? null : second_factor ? texts.on : texts.off),
  },
  { id: 'seen', width: 200, name: texts.seen, value: (one) => one.last_seen_at_ms, write: time as never },
  {
    ...{ id: 'since', name: texts.since, value: ({ created_at_ms }: Person) => created_at_ms },
    write: ((ms: number) => longDay(toDay(ms))) as never,
  },
]
