import { Button, Form } from 'react-aria-components'
import { routes } from '../../api/declared/routes.ts'
import { Snippet } from '../../parts/copy-button.tsx'
import { Fault } from '../../parts/fault.tsx'
import { givenOf } from '../../parts/given.ts'
import { Sure } from '../../parts/sure.tsx'
import { hasRole } from '../../shell/roles.ts'
import { usePlace } from '../../shell/session.ts'
import { useSetWords } from '../../shell/words.ts'
import { type Person, useChangeRole, useRemove, useReset } from './query.ts'
import { useRoleFields } from './role-fields.tsx'
import { texts } from './texts.ts'

/** One role of a person: change it, take it away, let the person set a new password. */
export function OnePerson({ person, where }: { person: Person; where: string }) {
  const { me } = usePlace()
  const setWords = useSetWords()
  const change = useChangeRole()
  const remove = useRemove()
  const { email, role, apps, status } = person
  const company_id = person.company_id ?? undefined
  const { fields, body } = useRoleFields({ role, company_id, app_ids: [...(apps ?? [])] }, true)
  const close = () => setWords({ open: undefined })
  return (
    <section className="card" aria-label={email}>
      <div className="line">
        <h2 className="wrap">{email}</h2>
        <span className="quiet">
          {role} · {where}
        </span>
        <div className="line end">
          <Sure
            action={texts.remove}
            subject={`${email} · ${role} · ${where}`}
            help={texts.removeHelp}
            work={() => remove.mutateAsync({ email, ...(company_id !== undefined && { company_id }) }).then(close)}
          />
          <Button className="button small" onPress={close}>
            {texts.close}
          </Button>
        </div>
      </div>
      {person.person_id === me.person_id && <p className="quiet">{texts.own}</p>}
      {role !== 'operator' && (
        <Form
          className="form narrow"
          onSubmit={(event) => {
            event.preventDefault()
            change.mutate({ email, ...body })
          }}
        >
          {fields}
          {change.error !== null && <Fault error={change.error} />}
          <div>
            <Button type="submit" className="button" isPending={change.isPending}>
              {texts.change}
            </Button>
          </div>
        </Form>
      )}
      {status === 'active' && hasRole(me, routes.resetPerson.roles) && <Reset email={email} />}
    </section>
  )
}

function Reset({ email }: { email: string }) {
  const reset = useReset()
  return (
    <Form
      className="form narrow"
      onSubmit={(event) => {
        event.preventDefault()
        reset.mutate({ email, second_factor: givenOf(event.currentTarget)('second_factor') !== undefined })
      }}
    >
      <p className="quiet">{texts.resetHelp}</p>
      <label className="check">
        <input type="checkbox" name="second_factor" /> {texts.resetFactor}
      </label>
      {reset.error !== null && <Fault error={reset.error} />}
      {reset.data?.reset_url && <Snippet label={texts.resetMade} text={reset.data.reset_url} />}
      {reset.data?.reset_url === null && <p role="status">{texts.mailed}</p>}
      <div>
        <Button type="submit" className="button" isPending={reset.isPending}>
          {texts.reset}
        </Button>
      </div>
    </Form>
  )
}
