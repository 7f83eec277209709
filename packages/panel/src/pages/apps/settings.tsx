import { Button, Form } from 'react-aria-components'
import { limits } from '../../api/declared/limits.ts'
import { Fault } from '../../parts/fault.tsx'
import { givenOf } from '../../parts/given.ts'
import { TextInput } from '../../parts/text-input.tsx'
import type { App } from '../../shell/session.ts'
import { useChangeApp } from './query.ts'
import { texts } from './texts.ts'

/** The names of an app, how it matches clicks with installs, and which receipts count. */
export function Settings({ app }: { app: App }) {
  const change = useChangeApp(app.app_id)
  const whole = { isRequired: true, inputMode: 'numeric', pattern: '[1-9][0-9]*' } as const
  return (
    <Form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        const given = givenOf(event.currentTarget)
        change.mutate({
          ...{ name: given('name') ?? '', bundle_id: given('bundle_id') ?? '', store_id: given('store_id') ?? '' },
          click_window_hours: Number(given('click_window_hours')),
          probabilistic: given('probabilistic') !== undefined,
          probabilistic_window_hours: Number(given('probabilistic_window_hours')),
          reinstall_days: Number(given('reinstall_days')),
          valid_receipts_only: given('valid_receipts_only') !== undefined,
        })
      }}
    >
      <div className="form-grid">
        <TextInput name="name" label={texts.name} defaultValue={app.name} isRequired maxLength={200} />
        <TextInput name="bundle_id" label={texts.bundle} defaultValue={app.bundle_id ?? ''} mono />
        <TextInput name="store_id" label={texts.store} defaultValue={app.store_id ?? ''} mono />
        <TextInput
          {...whole}
          name="click_window_hours"
          label={texts.window}
          help={texts.windowHelp(limits.click_window_hours_max)}
          defaultValue={String(app.click_window_hours)}
        />
        <TextInput
          {...whole}
          name="probabilistic_window_hours"
          label={texts.addressWindow}
          help={texts.addressHelp(limits.click_window_hours_max)}
          defaultValue={String(app.probabilistic_window_hours)}
        />
        <TextInput
          {...whole}
          name="reinstall_days"
          label={texts.reinstall}
          help={texts.reinstallHelp(limits.reinstall_days_max)}
          defaultValue={String(app.reinstall_days)}
        />
      </div>
      <label className="check">
        <input type="checkbox" name="probabilistic" defaultChecked={app.probabilistic} /> {texts.probabilistic}
      </label>
      <p className="quiet">
        {texts.settingsHelp} <a href="/docs/rules#attribution-settings">{texts.more}</a>
      </p>
      <label className="check">
        <input type="checkbox" name="valid_receipts_only" defaultChecked={app.valid_receipts_only} />{' '}
        {texts.validReceiptsOnly}
      </label>
      <p className="quiet">
        {texts.validReceiptsHelp} <a href="/docs/receipts#valid-receipts-only">{texts.validReceiptsMore}</a>
      </p>
      {change.error !== null && <Fault error={change.error} />}
      <div className="line">
        <Button type="submit" className="button" isPending={change.isPending}>
          {texts.save}
        </Button>
        {change.isSuccess && <span role="status">{texts.saved}</span>}
      </div>
    </Form>
  )
}
