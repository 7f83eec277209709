import { Button, Form } from 'react-aria-components'
import type { Output } from '../../api/call.ts'
import { count, none, time } from '../../api/numbers.ts'
import { isFault, useConfirmed } from '../../parts/confirmed.tsx'
import { Snippet } from '../../parts/copy-button.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Scroller } from '../../parts/scroller.tsx'
import { Skeleton } from '../../parts/skeleton.tsx'
import { Sure } from '../../parts/sure.tsx'
import { TextInput } from '../../parts/text-input.tsx'
import type { App } from '../../shell/session.ts'
import { useMintKey, useRevokeKey, useRotate, useServerKeys } from './query.ts'
import { Settings } from './settings.tsx'
import { StoreCredentials } from './store-credentials.tsx'
import { StoreNotifications } from './store-notifications.tsx'
import { texts } from './texts.ts'

type Key = Output<'listServerKeys'>['keys'][number]

const scopesInOrder = Object.keys(texts.may) as Key['scopes']
const usual: Key['scopes'] = ['events:write', 'reports:read']

/** The server keys, the signing secret and the settings of an app, its credentials at the stores, and their notifications. */
export function AppKeys({ app }: { app: App }) {
  return (
    <section className="card" aria-label={`${texts.manage}: ${app.name}`}>
      <h3 className="wrap">{app.name}</h3>
      <Settings app={app} />
      <ServerKeys app={app} />
      <Secret app={app} />
      <StoreCredentials app={app} />
      <StoreNotifications app={app} />
    </section>
  )
}

function ServerKeys({ app }: { app: App }) {
  const keys = useServerKeys(app.app_id)
  const mint = useMintKey()
  const { run, dialog } = useConfirmed()
  return (
    <>
      <div>
        <h4>{texts.keys}</h4>
        <p className="quiet">{texts.keysHelp}</p>
      </div>
      {keys.error !== null && <Fault error={keys.error} retry={() => void keys.refetch()} />}
      {keys.isPending && <Skeleton shape="text" />}
      {keys.data?.keys.length === 0 && <p className="quiet">{texts.noKeys}</p>}
      {keys.data !== undefined && keys.data.keys.length > 0 && (
        <Scroller className="scroll" label={texts.keys}>
          <table className="plain-table">
            <thead>
              <tr>
                {[texts.label, texts.key, texts.scopes, texts.state, texts.used, texts.requests, ''].map((head) => (
                  <th key={head} scope="col">
                    {head === '' ? <span className="unseen">{texts.revoke}</span> : head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {keys.data.keys.map((key) => (
                <KeyRow key={key.key_id} value={key} />
              ))}
            </tbody>
          </table>
        </Scroller>
      )}
      {mint.data !== undefined && <Snippet label={texts.keyOnce} text={mint.data.key} />}
      {isFault(mint.error) && <Fault error={mint.error} />}
      <Form
        className="filters"
        onSubmit={(event) => {
          event.preventDefault()
          const form = event.currentTarget
          const given = new FormData(form)
          const label = String(given.get('label')).trim()
          const scopes = scopesInOrder.filter((scope) => given.has(scope))
          run(() => mint.mutateAsync({ app_id: app.app_id, label, scopes }).then(() => form.reset()))
        }}
      >
        <TextInput name="label" label={texts.label} help={texts.labelHelp} isRequired maxLength={200} />
        <fieldset className="choices">
          <legend>{texts.scopes}</legend>
          {scopesInOrder.map((scope) => (
            <label key={scope} className="check">
              <input type="checkbox" name={scope} defaultChecked={usual.includes(scope)} /> {texts.may[scope]}
            </label>
          ))}
        </fieldset>
        <Button type="submit" className="button" isPending={mint.isPending}>
          {texts.mint}
        </Button>
      </Form>
      {dialog}
    </>
  )
}

function KeyRow({ value: { key_id, label, display, scopes, status, last_used_ms, requests_24h } }: { value: Key }) {
  const revoke = useRevokeKey()
  return (
    <tr>
      <td className="wrap">{label}</td>
      <td>
        <code>{display}</code>
      </td>
      <td className="wrap">{scopes.map((scope) => texts.may[scope]).join(', ')}</td>
      <td>
        <span className={`pill ${status === 'active' ? 'good' : ''}`}>{status}</span>
      </td>
      <td className="number">{last_used_ms === null ? none : time(last_used_ms)}</td>
      <td className="number">{count(requests_24h)}</td>
      <td>
        {status === 'active' && (
          <Sure action={texts.revoke} subject={label} help={texts.revokeSure} work={() => revoke.mutateAsync(key_id)} />
        )}
      </td>
    </tr>
  )
}

function Secret({ app }: { app: App }) {
  const rotate = useRotate()
  const { run, dialog } = useConfirmed()
  return (
    <>
      {rotate.data !== undefined && <Snippet label={texts.secretOnce} text={rotate.data.signing_secret} />}
      {isFault(rotate.error) && <Fault error={rotate.error} />}
      <div className="line">
        <Button
          className="button"
          isPending={rotate.isPending}
          onPress={() => run(() => rotate.mutateAsync(app.app_id))}
        >
          {texts.rotate}
        </Button>
        <span className="quiet">{texts.rotateHelp}</span>
      </div>
      {dialog}
    </>
  )
}
