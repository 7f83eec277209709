import { Button, Form } from 'react-aria-components'
import { publicUrl } from '../../api/public-address.ts'
import { Snippet } from '../../parts/copy-button.tsx'
import { Fault } from '../../parts/fault.tsx'
import { givenOf } from '../../parts/given.ts'
import { TextInput } from '../../parts/text-input.tsx'
import type { App } from '../../shell/session.ts'
import { useChangeApp } from './query.ts'
import { texts } from './texts.ts'

/** Where the store of an app sends its notifications, and what proves those of Google. */
export function StoreNotifications({ app }: { app: App }) {
  const store = app.platform === 'ios' ? 'apple' : 'google'
  return (
    <>
      <div>
        <h4>{texts.notifications}</h4>
        <p className="quiet">
          {texts.notificationsHelp[store]}{' '}
          <a href={`/docs/receipts#notify-from-${store === 'apple' ? 'the-app-store' : 'google-play'}`}>
            {texts.notificationsMore}
          </a>
        </p>
      </div>
      <Snippet label={texts.notifiedAt[store]} text={`${publicUrl()}/store/${store}/${app.app_key}`} />
      {store === 'google' && <GooglePush app={app} />}
    </>
  )
}

function GooglePush({ app }: { app: App }) {
  const change = useChangeApp(app.app_id)
  return (
    <Form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        const given = givenOf(event.currentTarget)
        change.mutate({
          google_push_email: given('google_push_email') ?? '',
          google_push_audience: given('google_push_audience') ?? '',
        })
      }}
    >
      <div className="form-grid">
        <TextInput
          name="google_push_email"
          label={texts.pushEmail}
          help={texts.pushEmailHelp}
          defaultValue={app.google_push_email ?? ''}
          inputMode="email"
          autoComplete="off"
          mono
        />
        <TextInput
          name="google_push_audience"
          label={texts.pushAudience}
          help={texts.pushAudienceHelp}
          defaultValue={app.google_push_audience ?? ''}
          autoComplete="off"
          mono
        />
      </div>
      {change.error !== null && <Fault error={change.error} />}
      <div className="line">
        <Button type="submit" className="button" isPending={change.isPending}>
          {texts.savePush}
        </Button>
        {change.isSuccess && <span role="status">{texts.saved}</span>}
      </div>
    </Form>
  )
}
