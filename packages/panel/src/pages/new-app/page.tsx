import { useState } from 'react'
import { Button, Form } from 'react-aria-components'
import { routes } from '../../api/declared/routes.ts'
import { Choice } from '../../parts/choice.tsx'
import { Snippet } from '../../parts/copy-button.tsx'
import { Fault } from '../../parts/fault.tsx'
import { FirstEvent } from '../../parts/first-event.tsx'
import { TextInput } from '../../parts/text-input.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import { hasRole } from '../../shell/roles.ts'
import { usePlace } from '../../shell/session.ts'
import { useFirstEvent, useMakeApp } from './query.ts'
import { texts } from './texts.ts'

const platforms = [
  { id: 'android', name: 'Android' },
  { id: 'ios', name: 'iOS' },
] as const

/** From a company to the first event: each step waits for the one before. */
export default function NewApp() {
  const { me, companies, company } = usePlace()
  const own = companies.filter(({ company_id }) =>
    hasRole(
      { ...me, memberships: me.memberships.filter((held) => held.role !== 'operator') },
      routes.createApp.roles,
      company_id,
    ),
  )
  const [chosen, setChosen] = useState(
    own.find((one) => one.company_id === company?.company_id)?.company_id ?? own[0]?.company_id,
  )
  const [platform, setPlatform] = useState<(typeof platforms)[number]['id']>('android')
  const make = useMakeApp()
  const made = make.data
  if (chosen === undefined) return <p className="empty">{texts.foreign}</p>
  return (
    <div className="steps">
      <section className="step">
        <h2>
          <span>1</span>
          {texts.app}
        </h2>
        {made === undefined ? (
          <Form
            className="form"
            onSubmit={(event) => {
              event.preventDefault()
              const given = new FormData(event.currentTarget)
              const bundle_id = String(given.get('bundle_id')).trim()
              make.mutate({
                company_id: chosen,
                platform,
                name: String(given.get('name')).trim(),
                ...(bundle_id !== '' && { bundle_id }),
              })
            }}
          >
            {own.length > 1 && (
              <Choice
                label={texts.company}
                value={chosen}
                options={own.map(({ company_id, name }) => ({ id: company_id, name }))}
                onChange={setChosen}
              />
            )}
            <TextInput name="name" label={texts.name} isRequired maxLength={200} autoFocus />
            <Choice label={texts.platform} value={platform} options={platforms} onChange={setPlatform} />
            <TextInput name="bundle_id" label={texts.bundle} help={texts.bundleHelp} mono />
            {make.error !== null && <Fault error={make.error} />}
            <div>
              <Button type="submit" className="button primary" isPending={make.isPending}>
                {texts.make}
              </Button>
            </div>
          </Form>
        ) : (
          <p className="quiet">{make.variables?.name}</p>
        )}
      </section>
      {made !== undefined && (
        <>
          <section className="step">
            <h2>
              <span>2</span>
              {texts.keys}
            </h2>
            <Snippet label={texts.secret} text={made.signing_secret} />
          </section>
          <section className="step">
            <h2>
              <span>3</span>
              {texts.send}
            </h2>
            <p className="quiet">{texts.sendHelp}</p>
            <FirstEvent app={made} signing_secret={made.signing_secret} />
            <FirstArrival app_id={made.app_id} />
          </section>
        </>
      )}
    </div>
  )
}

/** Becomes green by itself. */
function FirstArrival({ app_id }: { app_id: string }) {
  const { accepted, refused } = useFirstEvent(app_id)
  return (
    <div className="waiting" role="status" data-arrived={accepted ? true : undefined}>
      <div className="wrap">
        <strong>{accepted ? texts.arrived(accepted) : texts.waiting}</strong>
        {!accepted && refused && (
          <p>
            {texts.rejected(refused.code ?? refused.kind)} {refused.message}
          </p>
        )}
      </div>
      {accepted && (
        <PageLink page="overview" words={{ app: app_id }} className="button">
          {texts.next}
        </PageLink>
      )}
    </div>
  )
}
