import { Button, Form } from 'react-aria-components'
import { Snippet } from '../../parts/copy-button.tsx'
import { Fault } from '../../parts/fault.tsx'
import { givenOf, listOf } from '../../parts/given.ts'
import { TextInput } from '../../parts/text-input.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import type { App } from '../../shell/session.ts'
import { useMakeLink } from './query.ts'
import { texts } from './texts.ts'

/** Makes a link, and shows its URL. The service checks the fields. */
export function NewLink({ app }: { app: App }) {
  const make = useMakeLink()
  const needed = app.platform === 'ios' ? 'store_id' : 'bundle_id'
  return (
    <section className="card" aria-label={texts.newLink}>
      <h2>{texts.newLink}</h2>
      {app[needed] === null && (
        <p className="quiet">
          {texts.noStore(needed)}{' '}
          <PageLink page="apps" words={{ open: app.app_id }}>
            Apps and keys
          </PageLink>
          .
        </p>
      )}
      {make.data !== undefined && <Snippet label={texts.made} text={make.data.url} />}
      <Form
        className="form"
        onSubmit={(event) => {
          event.preventDefault()
          const form = event.currentTarget
          make.mutate(bodyOf(app.app_id, form), { onSuccess: () => form.reset() })
        }}
      >
        <div className="form-grid">
          <TextInput
            name="partner"
            label={texts.partner}
            help={texts.partnerHelp}
            isRequired
            maxLength={64}
            autoFocus
          />
          <TextInput name="campaign" label={texts.campaign} maxLength={200} />
          <TextInput name="ad_group" label={texts.adGroup} maxLength={200} />
          <TextInput name="creative" label={texts.creative} maxLength={200} />
          <TextInput name="countries" label={texts.countries} help={texts.countriesHelp} />
          <TextInput
            name="lookback_hours"
            label={texts.lookback}
            help={texts.lookbackHelp(app.click_window_hours)}
            inputMode="numeric"
            pattern="[0-9]+"
          />
          <TextInput name="deep_link" label={texts.deepLink} help={texts.deepLinkHelp} mono />
          <TextInput name="fallback_url" label={texts.fallback} help={texts.fallbackHelp} mono />
        </div>
        <label className="check">
          <input type="checkbox" name="honeypot" /> {texts.honeypot}
        </label>
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

function bodyOf(app_id: string, form: HTMLFormElement) {
  const given = givenOf(form)
  const countries = listOf(given('countries'))
  const lookback_hours = given('lookback_hours')
  return {
    app_id,
    partner: given('partner') ?? '',
    ...{ campaign: given('campaign'), ad_group: given('ad_group'), creative: given('creative') },
    ...{ deep_link: given('deep_link'), fallback_url: given('fallback_url') },
    ...(countries.length > 0 && { countries }),
    ...(lookback_hours !== undefined && { lookback_hours: Number(lookback_hours) }),
    honeypot: given('honeypot') !== undefined,
  }
}
