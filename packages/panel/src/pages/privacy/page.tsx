import { Button, Form } from 'react-aria-components'
import { addressOf } from '../../api/address.ts'
import { routes } from '../../api/declared/routes.ts'
import { count } from '../../api/numbers.ts'
import { Fault } from '../../parts/fault.tsx'
import { givenOf } from '../../parts/given.ts'
import { Skeleton } from '../../parts/skeleton.tsx'
import { Sure } from '../../parts/sure.tsx'
import { TextInput } from '../../parts/text-input.tsx'
import { hasRole } from '../../shell/roles.ts'
import { useApp, usePlace } from '../../shell/session.ts'
import { useSetWords, useWords } from '../../shell/words.ts'
import { CertificateCard } from './certificate.tsx'
import { isUnknown, useErasure, useRequest, useRun } from './query.ts'
import { texts } from './texts.ts'

/** Is this person gone; prove it. */
export default function Privacy() {
  const { me } = usePlace()
  const { app_id } = useApp()
  const { install } = useWords()
  const setWords = useSetWords()
  return (
    <>
      <p className="quiet">{texts.help}</p>
      <Form
        className="filters wide"
        key={install}
        onSubmit={(event) => {
          event.preventDefault()
          setWords({ install: givenOf(event.currentTarget)('install') })
        }}
      >
        <TextInput name="install" label={texts.install} defaultValue={install ?? ''} isRequired mono />
        <Button type="submit" className="button primary">
          {texts.look}
        </Button>
      </Form>
      {install !== undefined && <Erasure key={`${app_id} ${install}`} app_id={app_id} install_uuid={install} />}
      {hasRole(me, routes.runErasures.roles) && <Run />}
    </>
  )
}

function Erasure({ app_id, install_uuid }: { app_id: string; install_uuid: string }) {
  const { data, error, refetch } = useErasure(app_id, install_uuid)
  const request = useRequest(app_id, install_uuid)
  const tools = (
    <div className="line">
      <Sure
        action={data === undefined ? texts.request : texts.again}
        subject={install_uuid}
        help={texts.sure}
        work={() => request.mutateAsync()}
      />
      <a
        className="button small"
        href={addressOf('exportInstall', { params: { install_uuid }, query: { app_id } })}
        download="install.ndjson"
      >
        {texts.export}
      </a>
    </div>
  )
  if (isUnknown(error))
    return (
      <section className="empty">
        <h2>{texts.unknown}</h2>
        <p className="quiet wrap">{texts.unknownHelp}</p>
        {tools}
      </section>
    )
  if (data === undefined)
    return error === null ? <Skeleton shape="table" /> : <Fault error={error} retry={() => void refetch()} />
  return (
    <>
      {error !== null && <Fault error={error} retry={() => void refetch()} />}
      <CertificateCard install_uuid={install_uuid} certificate={data}>
        {tools}
      </CertificateCard>
    </>
  )
}

function Run() {
  const run = useRun()
  return (
    <section className="figure" aria-label={texts.run}>
      <p className="quiet">{texts.runHelp}</p>
      {run.error !== null && <Fault error={run.error} />}
      {run.data !== undefined && <p role="status">{texts.ran(count(run.data.drained))}</p>}
      <div>
        <Button className="button" isPending={run.isPending} onPress={() => run.mutate()}>
          {texts.run}
        </Button>
      </div>
    </section>
  )
}
