import type { Plan } from '@tributary/contracts/admin/companies'
import { useState } from 'react'
import { Button, Form } from 'react-aria-components'
import { Choice } from '../../parts/choice.tsx'
import { Fault } from '../../parts/fault.tsx'
import { givenOf } from '../../parts/given.ts'
import { TextInput } from '../../parts/text-input.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import { useMakeCompany } from './query.ts'
import { plans, texts } from './texts.ts'

/** Makes a company. Its owner is invited next. */
export function NewCompany() {
  const make = useMakeCompany()
  const [plan, setPlan] = useState<Plan>('free')
  return (
    <section className="card" aria-label={texts.newCompany}>
      <h2>{texts.newCompany}</h2>
      <p className="quiet">{texts.makeHelp}</p>
      {make.data !== undefined && (
        <p role="status" className="wrap">
          {texts.madeNow(make.variables.name)}{' '}
          <PageLink page="people" words={{ company: make.data.company_id, app: undefined, open: 'new' }}>
            {texts.people}
          </PageLink>
        </p>
      )}
      <Form
        className="form narrow"
        onSubmit={(event) => {
          event.preventDefault()
          const form = event.currentTarget
          const name = givenOf(form)('name') ?? ''
          make.mutate({ name, plan }, { onSuccess: () => form.reset() })
        }}
      >
        <TextInput name="name" label={texts.name} isRequired maxLength={200} autoFocus />
        <Choice label={texts.plan} value={plan} options={plans} onChange={setPlan} />
        {make.error !== null && <Fault error={make.error} />}
        <div>
          <Button type="submit" className="button primary" isPending={make.isPending}>
            {texts.make}
          </Button>
        </div>
      </Form>
    </section>
  )
}
