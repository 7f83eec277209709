import { Button, Form } from 'react-aria-components'
import { Snippet } from '../../parts/copy-button.tsx'
import { Fault } from '../../parts/fault.tsx'
import { givenOf } from '../../parts/given.ts'
import { TextInput } from '../../parts/text-input.tsx'
import { useInvite } from './query.ts'
import { useRoleFields } from './role-fields.tsx'
import { texts } from './texts.ts'

/** Makes an invitation. Its link is shown once, unless it is mailed. */
export function Invite({ company_id }: { company_id: string | undefined }) {
  const invite = useInvite()
  const { fields, body } = useRoleFields({ role: 'analyst', company_id, app_ids: [] })
  return (
    <section className="card" aria-label={texts.inviteTitle}>
      <h2>{texts.inviteTitle}</h2>
      {invite.data?.invitation_url && <Snippet label={texts.invited} text={invite.data.invitation_url} />}
      {invite.data?.invitation_url === null && <p role="status">{texts.mailed}</p>}
      <Form
        className="form narrow"
        onSubmit={(event) => {
          event.preventDefault()
          const form = event.currentTarget
          const email = givenOf(form)('email') ?? ''
          invite.mutate({ email, ...body }, { onSuccess: () => form.reset() })
        }}
      >
        <TextInput name="email" type="email" label={texts.email} isRequired autoFocus />
        {fields}
        {invite.error !== null && <Fault error={invite.error} />}
        <div>
          <Button type="submit" className="button primary" isPending={invite.isPending}>
            {texts.send}
          </Button>
        </div>
      </Form>
    </section>
  )
}
