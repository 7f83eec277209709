import { useState } from 'react'
import { Button, Form } from 'react-aria-components'
import { limits } from '../../api/declared/limits.ts'
import { count } from '../../api/numbers.ts'
import { Fault } from '../../parts/fault.tsx'
import { givenOf } from '../../parts/given.ts'
import { TextInput } from '../../parts/text-input.tsx'
import { type Company, useChangeCompany, useExpiring } from './query.ts'
import { texts } from './texts.ts'

type Kept = Pick<Company, 'keep_ip_days' | 'keep_click_days' | 'keep_raw_days'>

const isShorter = ({ keep_raw_days: next }: Kept, { keep_raw_days: now }: Kept) =>
  next !== null && (now === null || next < now)

/** How long a company keeps what it has. A shorter time for raw events says first what it deletes. */
export function Retention({ company }: { company: Company }) {
  const { company_id, keep_ip_days, keep_click_days, keep_raw_days } = company
  const change = useChangeCompany(company_id)
  const [asked, setAsked] = useState<Kept | null>(null)
  const save = (kept: Kept) => change.mutate(kept, { onSuccess: () => setAsked(null) })
  const days = { isRequired: true, type: 'text', inputMode: 'numeric', pattern: '[1-9][0-9]{0,3}' } as const
  return (
    <section className="figure" aria-label={texts.retention}>
      <div>
        <h3>{texts.retention}</h3>
        <p className="quiet">
          {texts.retentionHelp} <a href="/docs/privacy#retention">{texts.more}</a>
        </p>
      </div>
      <Form
        className="filters"
        onSubmit={(event) => {
          event.preventDefault()
          const given = givenOf(event.currentTarget)
          const raw = given('keep_raw_days')
          const kept = {
            keep_ip_days: Number(given('keep_ip_days')),
            keep_click_days: Number(given('keep_click_days')),
            keep_raw_days: raw === undefined ? null : Number(raw),
          }
          change.reset()
          if (isShorter(kept, company)) setAsked(kept)
          else save(kept)
        }}
      >
        <TextInput
          {...days}
          name="keep_ip_days"
          label={texts.ip}
          help={texts.whole(limits.keep_days_max)}
          defaultValue={String(keep_ip_days)}
        />
        <TextInput
          {...days}
          name="keep_click_days"
          label={texts.clicks}
          help={texts.whole(limits.keep_click_days_max)}
          defaultValue={String(keep_click_days)}
        />
        <TextInput
          {...days}
          isRequired={false}
          name="keep_raw_days"
          label={texts.raw}
          help={texts.rawHelp}
          defaultValue={keep_raw_days === null ? '' : String(keep_raw_days)}
        />
        <Button type="submit" className="button" isPending={change.isPending}>
          {texts.keep}
        </Button>
      </Form>
      {asked?.keep_raw_days != null && (
        <Expiring
          company_id={company_id}
          keep_raw_days={asked.keep_raw_days}
          onKeep={() => setAsked(null)}
          onDelete={() => save(asked)}
        />
      )}
      {change.error !== null && <Fault error={change.error} />}
      {change.isSuccess && <p role="status">{texts.kept}</p>}
    </section>
  )
}

interface ExpiringProps {
  company_id: string
  keep_raw_days: number
  onKeep: () => void
  onDelete: () => void
}

/** What the next night would delete. Without that number nothing can be saved. */
function Expiring({ company_id, keep_raw_days, onKeep, onDelete }: ExpiringProps) {
  const { data, error, refetch } = useExpiring(company_id, keep_raw_days)
  return (
    <div className="fault" role="alert">
      {error !== null && <Fault error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <p>{texts.counting}</p>}
      {data !== undefined && <p>{texts.expiring(count(data.raw_events_expired), count(data.raw_events))}</p>}
      <div className="line">
        <Button className="button" onPress={onKeep} autoFocus>
          {texts.cancel}
        </Button>
        {data !== undefined && (
          <Button className="button danger" onPress={onDelete}>
            {texts.apply}
          </Button>
        )}
      </div>
    </div>
  )
}
