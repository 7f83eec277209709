import type { Plan } from '@tributary/contracts/admin/companies'
import { useState } from 'react'
import { Button, Form } from 'react-aria-components'
import { routes } from '../../api/declared/routes.ts'
import { Choice } from '../../parts/choice.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Fault } from '../../parts/fault.tsx'
import { givenOf } from '../../parts/given.ts'
import { Sure } from '../../parts/sure.tsx'
import { TextInput } from '../../parts/text-input.tsx'
import { hasRole } from '../../shell/roles.ts'
import { usePlace } from '../../shell/session.ts'
import { type Company, useChangeCompany, useSuspend } from './query.ts'
import { Retention } from './retention.tsx'
import { plans, texts } from './texts.ts'

/** What may be changed of a company, each part for whose role includes it. */
export function OneCompany({ company }: { company: Company }) {
  const { me } = usePlace()
  const { company_id, company_key, name } = company
  return (
    <section className="card" aria-label={name}>
      <h2 className="wrap">{name}</h2>
      <Facts
        facts={[
          [
            texts.key,
            <span key="key" className="copied">
              <code className="cut">{company_key}</code>
              <CopyButton text={company_key} name={texts.key} />
            </span>,
          ],
        ]}
      />
      {hasRole(me, routes.getExpiring.roles, company_id) && <Retention company={company} />}
      {hasRole(me, routes.suspendCompany.roles) && (
        <>
          <Quota company={company} />
          <Suspension company={company} />
        </>
      )}
    </section>
  )
}

function Quota({ company }: { company: Company }) {
  const [plan, setPlan] = useState<Plan>(company.plan)
  const change = useChangeCompany(company.company_id)
  return (
    <section className="figure" aria-label={texts.quota}>
      <div>
        <h3>{texts.quota}</h3>
        <p className="quiet">{texts.quotaHelp}</p>
      </div>
      <Form
        className="filters"
        onSubmit={(event) => {
          event.preventDefault()
          const monthly = givenOf(event.currentTarget)('monthly_quota')
          change.mutate({ plan, ...(monthly !== undefined && { monthly_quota: Number(monthly) }) })
        }}
      >
        <Choice label={texts.plan} value={plan} options={plans} onChange={setPlan} />
        <TextInput
          name="monthly_quota"
          label={texts.monthly}
          help={texts.monthlyHelp}
          inputMode="numeric"
          pattern="[0-9]+"
        />
        <Button type="submit" className="button" isPending={change.isPending}>
          {texts.change}
        </Button>
      </Form>
      {change.error !== null && <Fault error={change.error} />}
      {change.isSuccess && <p role="status">{texts.changed}</p>}
    </section>
  )
}

function Suspension({ company: { company_id, name, status } }: { company: Company }) {
  const suspend = useSuspend(company_id)
  return (
    <section className="figure" aria-label={texts.suspension}>
      <h3>{texts.suspension}</h3>
      <p className="quiet">{texts.suspendHelp}</p>
      {suspend.error !== null && <Fault error={suspend.error} />}
      <div>
        {status === 'active' ? (
          <Sure action={texts.suspend} subject={name} help={texts.suspendHelp} work={() => suspend.mutateAsync(true)} />
        ) : (
          <Button className="button small" isPending={suspend.isPending} onPress={() => suspend.mutate(false)}>
            {texts.reinstate}
          </Button>
        )}
      </div>
    </section>
  )
}
