import { useState } from 'react'
import { Button, Form } from 'react-aria-components'
import { Choice } from '../../parts/choice.tsx'
import { Snippet } from '../../parts/copy-button.tsx'
import { Fault } from '../../parts/fault.tsx'
import { givenOf } from '../../parts/given.ts'
import { TextInput } from '../../parts/text-input.tsx'
import { type NewSettings, type Partner, usePreview, useSetPartner } from './query.ts'
import { texts } from './texts.ts'

type Method = Partner['method']
type Flagged = Partner['flagged']

interface PartnerFormProps {
  app_id: string
  /** Null: a new one. */
  partner: Partner | null
  onSaved?: (partner: string) => void
}

/** Sets how a partner is notified, and shows a postback while somebody types. The service checks the fields. */
export function PartnerForm({ app_id, partner, onSaved }: PartnerFormProps) {
  const [name, setName] = useState(partner?.partner ?? '')
  const [postback_url, setUrl] = useState(partner?.postback_url ?? 'https://')
  const [method, setMethod] = useState<Method>(partner?.method ?? 'GET')
  const [flagged, setFlagged] = useState<Flagged>(partner?.flagged ?? 'skip')
  const set = useSetPartner()
  const shown = { app_id, partner: name, postback_url, method }
  return (
    <Form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        const body = { ...shown, flagged, ...restOf(event.currentTarget) }
        set.mutate(body, { onSuccess: (saved) => onSaved?.(saved.partner) })
      }}
    >
      <div className="form-grid">
        {partner === null && (
          <TextInput
            label={texts.partner}
            help={texts.partnerHelp}
            value={name}
            onChange={setName}
            isRequired
            maxLength={64}
            autoFocus
          />
        )}
        <TextInput name="events" label={texts.events} help={texts.eventsHelp} defaultValue={eventsOf(partner)} />
        <TextInput
          name="hmac_secret"
          type="password"
          label={texts.secret}
          help={partner?.signed ? texts.secretKept : texts.secretHelp}
          autoComplete="off"
        />
      </div>
      <TextInput label={texts.url} help={texts.urlHelp} value={postback_url} onChange={setUrl} isRequired mono />
      <div className="line">
        <Choice label={texts.method} value={method} options={optionsOf(texts.methods)} onChange={setMethod} />
        <Choice label={texts.flagged} value={flagged} options={optionsOf(texts.flaggedChoices)} onChange={setFlagged} />
        {partner?.signed && (
          <label className="check">
            <input type="checkbox" name="unsign" /> {texts.unsign}
          </label>
        )}
      </div>
      <Preview {...shown} />
      {set.error !== null && <Fault error={set.error} />}
      {set.isSuccess && <p role="status">{texts.saved}</p>}
      <div>
        <Button type="submit" className="button primary" isPending={set.isPending}>
          {texts.save}
        </Button>
      </div>
    </Form>
  )
}

const optionsOf = <Id extends string>(names: Readonly<Record<Id, string>>) =>
  (Object.entries(names) as [Id, string][]).map(([id, name]) => ({ id, name }))

const eventsOf = (partner: Partner | null): string => partner?.events.join(', ') ?? 'install'

function restOf(form: HTMLFormElement): Pick<NewSettings, 'events' | 'hmac_secret'> {
  const given = givenOf(form)
  // Names of events may have spaces in them.
  const events = (given('events') ?? '').split(',').map((word) => word.trim())
  const hmac_secret = given('unsign') === undefined ? given('hmac_secret') : null
  return { events: events.filter((word) => word !== ''), ...(hmac_secret !== undefined && { hmac_secret }) }
}

function Preview(shown: Parameters<typeof usePreview>[0]) {
  const { data, error } = usePreview(shown)
  if (error !== null) return <Fault error={error} />
  if (data === undefined) return null
  return (
    <div className="form" aria-live="polite">
      <Snippet label={`${texts.preview}: ${data.method}`} text={data.url} />
      {data.body !== null && <Snippet label={texts.body} text={data.body} />}
      <p className="quiet">{data.install_uuid === null ? texts.madeUp : texts.ofInstall}</p>
    </div>
  )
}
