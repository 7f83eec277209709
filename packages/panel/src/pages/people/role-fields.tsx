import type { Role } from '@tributary/contracts/admin/people/roles'
import { useState } from 'react'
import { Checkbox, CheckboxGroup, Label, Text } from 'react-aria-components'
import { routes } from '../../api/declared/routes.ts'
import { Choice } from '../../parts/choice.tsx'
import { hasRole } from '../../shell/roles.ts'
import { usePlace } from '../../shell/session.ts'
import { texts } from './texts.ts'

/** A role as a form has it. */
interface Held {
  role: Role
  company_id: string | undefined
  app_ids: string[]
}

const whole: readonly Role[] = ['owner', 'operator']
const named = Object.keys(texts.means) as Role[]

/** The fields of a role, and what a request says of them. The company is not asked for where it is fixed. */
export function useRoleFields(first: Held, fixed = false) {
  const { me, companies, apps } = usePlace()
  const [held, setHeld] = useState(first)
  const operator = hasRole(me, routes.resetPerson.roles)
  const own = companies.filter(({ company_id }) => hasRole(me, routes.invitePerson.roles, company_id))
  const above = held.role === 'operator'
  const company_id = above ? undefined : (held.company_id ?? own[0]?.company_id)
  const given = apps.filter((app) => app.company_id === company_id)
  const limitable = !whole.includes(held.role) && given.length > 0
  const options = named.filter((role) => role !== 'operator' || (operator && !fixed)).map((id) => ({ id, name: id }))
  const fields = (
    <>
      <Choice label={texts.role} value={held.role} options={options} onChange={(role) => setHeld({ ...held, role })} />
      <p className="quiet note">{texts.means[held.role]}</p>
      {!above && !fixed && own.length > 1 && company_id !== undefined && (
        <Choice
          label={texts.company}
          value={company_id}
          options={own.map((one) => ({ id: one.company_id, name: one.name }))}
          onChange={(chosen) => setHeld({ ...held, company_id: chosen, app_ids: [] })}
        />
      )}
      {limitable && (
        <CheckboxGroup className="field" value={held.app_ids} onChange={(app_ids) => setHeld({ ...held, app_ids })}>
          <Label className="choice-label">{texts.limit}</Label>
          {given.map(({ app_id, name }) => (
            <Checkbox key={app_id} value={app_id} className="check ticked">
              <span aria-hidden="true" className="tick" />
              <span className="wrap">{name}</span>
            </Checkbox>
          ))}
          <Text slot="description" className="quiet">
            {texts.limitHelp}
          </Text>
        </CheckboxGroup>
      )}
    </>
  )
  const body = {
    role: held.role,
    ...(company_id !== undefined && { company_id }),
    ...(limitable && held.app_ids.length > 0 && { app_ids: held.app_ids }),
  }
  return { fields, body }
}
