import { type ReactNode, useState } from 'react'
import { Button, FileTrigger, Form } from 'react-aria-components'
import type { Input } from '../../api/call.ts'
import { isFault, useConfirmed } from '../../parts/confirmed.tsx'
import { Fault } from '../../parts/fault.tsx'
import { givenOf } from '../../parts/given.ts'
import { TextInput } from '../../parts/text-input.tsx'
import type { App } from '../../shell/session.ts'
import { useCheckStore, useSetStores } from './query.ts'
import { texts } from './texts.ts'

type Given = Input<'setStoreCredentials'>['body']

/** Credentials of an app at the stores: what is given replaces what was set, and a store can be asked whether it takes them. */
export function StoreCredentials({ app }: { app: App }) {
  const set = useSetStores(app.app_id)
  const { run, dialog } = useConfirmed()
  const [appleFile, setAppleFile] = useState<File | null>(null)
  const [googleFile, setGoogleFile] = useState<File | null>(null)
  const [fault, setFault] = useState<string | null>(null)

  async function save(form: HTMLFormElement) {
    const given = givenOf(form)
    const found = await readGiven({ issuer_id: given('issuer_id'), key_id: given('key_id'), appleFile, googleFile })
    setFault(typeof found === 'string' ? found : null)
    if (typeof found === 'string') return
    run(() =>
      set.mutateAsync(found).then(() => {
        form.reset()
        setAppleFile(null)
        setGoogleFile(null)
      }),
    )
  }
  return (
    <>
      <div>
        <h4>{texts.stores}</h4>
        <p className="quiet">
          {texts.storesHelp} <a href="/docs/receipts">{texts.storesMore}</a>
        </p>
      </div>
      <Form
        className="form"
        onSubmit={(event) => {
          event.preventDefault()
          void save(event.currentTarget)
        }}
      >
        <div className="form-grid">
          <TextInput name="issuer_id" label={texts.issuer} autoComplete="off" mono />
          <TextInput name="key_id" label={texts.keyId} autoComplete="off" mono />
        </div>
        <OfFile file={appleFile} onSelect={setAppleFile} types={['.p8']} label={texts.appleKey}>
          {texts.isSet(app.has_apple_key)}
        </OfFile>
        <OfFile file={googleFile} onSelect={setGoogleFile} types={['.json']} label={texts.googleAccount}>
          {texts.isSet(app.has_google_account)}
        </OfFile>
        {fault !== null && <p role="alert">{fault}</p>}
        {isFault(set.error) && <Fault error={set.error} />}
        <div className="line">
          <Button type="submit" className="button" isPending={set.isPending}>
            {texts.saveStores}
          </Button>
          {set.isSuccess && <span role="status">{texts.saved}</span>}
        </div>
      </Form>
      <Check app={app} />
      {dialog}
    </>
  )
}

interface OfFileProps {
  file: File | null
  onSelect: (file: File | null) => void
  types: string[]
  label: string
  children: ReactNode
}

const OfFile = ({ file, onSelect, types, label, children }: OfFileProps) => (
  <div className="line">
    <span>{label}</span>
    <FileTrigger acceptedFileTypes={types} onSelect={(files) => onSelect(files?.[0] ?? null)}>
      <Button className="button small" aria-label={`${texts.choose}: ${label}`}>
        {texts.choose}
      </Button>
    </FileTrigger>
    <span className="quiet wrap">{file?.name ?? children}</span>
  </div>
)

/** What the stores say of the credentials. */
function Check({ app }: { app: App }) {
  const check = useCheckStore(app.app_id)
  const { apple, google } = check.data ?? {}
  return (
    <>
      {check.error !== null && <Fault error={check.error} />}
      <div className="line">
        <Button className="button" isPending={check.isPending} onPress={() => check.mutate()}>
          {texts.check}
        </Button>
        {apple && google && <span role="status">{texts.asked(texts.checks[apple], texts.checks[google])}</span>}
      </div>
    </>
  )
}

interface Chosen {
  issuer_id: string | undefined
  key_id: string | undefined
  appleFile: File | null
  googleFile: File | null
}

/** What is sent, or what is wrong with it. */
async function readGiven({ issuer_id, key_id, appleFile, googleFile }: Chosen): Promise<Given | string> {
  const apple_parts = [issuer_id, key_id, appleFile].filter((one) => one !== undefined && one !== null)
  if (apple_parts.length === 0 && googleFile === null) return texts.noFile
  if (apple_parts.length > 0 && apple_parts.length < 3) return texts.incomplete
  try {
    return {
      ...(appleFile && { apple: { issuer_id: issuer_id!, key_id: key_id!, key: await appleFile.text() } }),
      ...(googleFile && { google: JSON.parse(await googleFile.text()) }),
    }
  } catch {
    return texts.unreadable
  }
}
