import type { Session } from '@tributary/contracts/admin/people/own-account'
import { Button, Form } from 'react-aria-components'
import { limits } from '../../api/declared/limits.ts'
import { time } from '../../api/numbers.ts'
import { Facts } from '../../parts/facts.tsx'
import { Fault } from '../../parts/fault.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { Skeleton } from '../../parts/skeleton.tsx'
import { Sure } from '../../parts/sure.tsx'
import { TextInput } from '../../parts/text-input.tsx'
import { usePlace } from '../../shell/session.ts'
import { useChangePassword, useEndSession, useSessions } from './query.ts'
import { SecondFactor } from './second-factor.tsx'
import { texts } from './texts.ts'

/** The own account: roles, password, second factor, sessions. */
export default function Account() {
  const { me } = usePlace()
  return (
    <>
      <section className="card" aria-label={texts.roles}>
        <h2 className="wrap">{me.email}</h2>
        <Facts
          facts={me.memberships.map(({ role, company_name, apps }) => [
            role,
            `${company_name ?? texts.everything}${apps === null ? '' : `, ${texts.some(apps.length)}`}`,
          ])}
        />
      </section>
      {me.password ? <Password /> : <p className="quiet">{texts.noPassword}</p>}
      <SecondFactor />
      <Sessions />
    </>
  )
}

function Password() {
  const change = useChangePassword()
  return (
    <section className="card" aria-label={texts.password}>
      <h2>{texts.password}</h2>
      <p className="quiet">{texts.passwordHelp}</p>
      <Form
        className="form narrow"
        onSubmit={(event) => {
          event.preventDefault()
          const form = event.currentTarget
          const given = new FormData(form)
          const body = { password: String(given.get('password')), new_password: String(given.get('new_password')) }
          change.mutate(body, { onSuccess: () => form.reset() })
        }}
      >
        <TextInput name="password" type="password" label={texts.old} autoComplete="current-password" isRequired />
        <TextInput
          name="new_password"
          type="password"
          label={texts.next}
          help={texts.nextHelp(limits.password_chars_min)}
          autoComplete="new-password"
          minLength={limits.password_chars_min}
          isRequired
        />
        {change.error !== null && <Fault error={change.error} />}
        {change.isSuccess && <p role="status">{texts.changed}</p>}
        <div>
          <Button type="submit" className="button" isPending={change.isPending}>
            {texts.change}
          </Button>
        </div>
      </Form>
    </section>
  )
}

const columns: DataColumn<Session>[] = [
  { id: 'agent', width: 340, name: texts.browser, value: ({ agent }) => agent },
  { id: 'ip', name: texts.address, value: ({ ip }) => ip },
  { id: 'began', name: texts.began, value: ({ began_at_ms }) => began_at_ms, cell: (one) => time(one.began_at_ms) },
  { id: 'seen', name: texts.seen, value: ({ seen_at_ms }) => seen_at_ms, cell: (one) => time(one.seen_at_ms) },
  {
    ...{ id: 'end', name: texts.end, value: ({ current }: Session) => (current ? texts.this : texts.end) },
    cell: (session) => (session.current ? <span className="pill good">{texts.this}</span> : <End session={session} />),
  },
]
const idOf = ({ session_id }: Session) => session_id

function End({ session: { session_id, agent, ip } }: { session: Session }) {
  const end = useEndSession()
  return (
    <Sure
      action={texts.end}
      subject={`${agent} · ${ip}`}
      help={texts.endHelp}
      work={() => end.mutateAsync(session_id)}
    />
  )
}

function Sessions() {
  const { data, error, refetch } = useSessions()
  return (
    <section className="figure" aria-label={texts.sessions}>
      <header className="figure-head">
        <div>
          <h2>{texts.sessions}</h2>
          <p className="quiet">{texts.sessionsHelp}</p>
        </div>
      </header>
      {error !== null && <Fault error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton shape="table" />}
      {data !== undefined && (
        <DataTable label={texts.sessions} columns={columns} items={data.sessions} idOf={idOf} empty="" />
      )}
    </section>
  )
}
