import { Suspense, useState } from 'react'
import { Button, Form } from 'react-aria-components'
import { localTime, time } from '../../api/numbers.ts'
import { Choice } from '../../parts/choice.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Fault } from '../../parts/fault.tsx'
import { QrCode } from '../../parts/figure/charts.tsx'
import { givenOf } from '../../parts/given.ts'
import { Skeleton } from '../../parts/skeleton.tsx'
import { TextInput } from '../../parts/text-input.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import { useApp } from '../../shell/session.ts'
import { useSetWords, useWords } from '../../shell/words.ts'
import { type Link, useLinks } from '../links/query.ts'
import { momentOf } from './moments.ts'
import { type Step, type Subject, useFollow } from './query.ts'
import { texts } from './texts.ts'

/** What becomes of an install, or of the next click of a link, as it happens. */
export default function Follow() {
  const { link, install } = useWords()
  if (link !== undefined) return <Followed key={link} subject={{ link_id: link }} />
  if (install !== undefined) return <Followed key={install} subject={{ install_uuid: install }} />
  return <Choose />
}

function Choose() {
  const { app_id } = useApp()
  const setWords = useSetWords()
  const { data, error, refetch } = useLinks(app_id)
  return (
    <>
      <p className="quiet">{texts.help}</p>
      <section className="card" aria-label={texts.link}>
        <h2>{texts.link}</h2>
        {error !== null && <Fault error={error} retry={() => void refetch()} />}
        {data === undefined && error === null && <Skeleton shape="text" />}
        {data?.links.length === 0 && (
          <p className="quiet">
            {texts.noLinks} <PageLink page="links">Links</PageLink>
          </p>
        )}
        {data !== undefined && data.links.length > 0 && <ChooseLink links={data.links} />}
      </section>
      <section className="card" aria-label={texts.install}>
        <h2>{texts.install}</h2>
        <Form
          className="form narrow"
          onSubmit={(event) => {
            event.preventDefault()
            setWords({ install: givenOf(event.currentTarget)('install') })
          }}
        >
          <TextInput name="install" label={texts.installId} help={texts.installHelp} isRequired mono />
          <div>
            <Button type="submit" className="button primary">
              {texts.follow}
            </Button>
          </div>
        </Form>
      </section>
    </>
  )
}

const nameOf = ({ partner, campaign, ad_group }: Link) =>
  [partner, campaign, ad_group].filter((part) => part !== null).join(' · ')

function ChooseLink({ links }: { links: readonly Link[] }) {
  const setWords = useSetWords()
  const [chosen, setChosen] = useState(links[0]?.link_id ?? '')
  const options = links.map((link) => ({ id: link.link_id, name: nameOf(link) }))
  return (
    <div className="filters">
      <Choice label={texts.chooseLink} value={chosen} options={options} onChange={setChosen} />
      <Button className="button primary" onPress={() => setWords({ link: chosen })}>
        {texts.follow}
      </Button>
    </div>
  )
}

function Followed({ subject }: { subject: Subject }) {
  const { app_id } = useApp()
  const { state, ready, gap, end, steps } = useFollow(app_id, subject)
  const setWords = useSetWords()
  const ofLink = 'link_id' in subject
  return (
    <>
      <div className="line">
        <span className={`pill ${ready && state === 'open' ? 'good' : 'warn'}`} role="status">
          {end !== null ? texts.ended[end] : state === 'closed' ? texts.closed : ready ? texts.ready : texts.starting}
        </span>
        {!ready && end === null && <span className="quiet">{texts.startingHelp}</span>}
        {gap > 0 && <span className="quiet number">{texts.gap(gap)}</span>}
        <Button className="button small end" onPress={() => setWords({ link: undefined, install: undefined })}>
          {texts.another}
        </Button>
      </div>
      {ofLink ? <OneLink link_id={subject.link_id} /> : <h2 className="mono wrap">{subject.install_uuid}</h2>}
      {steps.length === 0 ? (
        <section className="empty">
          <h2>{ofLink ? texts.waitingClick : texts.waitingInstall}</h2>
        </section>
      ) : (
        <section className="figure" aria-label={texts.story}>
          <h2>{texts.story}</h2>
          <ol className="time-line" aria-live="polite">
            {steps.map((step) => (
              <OneStep key={step.n} step={step} />
            ))}
          </ol>
        </section>
      )}
    </>
  )
}

function OneLink({ link_id }: { link_id: string }) {
  const { app_id } = useApp()
  const link = useLinks(app_id).data?.links.find((one) => one.link_id === link_id)
  if (link === undefined) return <h2 className="mono wrap">{link_id}</h2>
  return (
    <section className="card" aria-label={nameOf(link)}>
      <h2 className="wrap">{nameOf(link)}</h2>
      {link.url !== null && (
        <div className="beside">
          <div>
            <p>{texts.scan}</p>
            <span className="copied">
              <code className="wrap">{link.url}</code>
              <CopyButton text={link.url} />
            </span>
          </div>
          <Suspense fallback={<Skeleton shape="code" />}>
            <QrCode text={link.url} label={texts.code} file={link_id} />
          </Suspense>
        </div>
      )}
    </section>
  )
}

function OneStep({ step }: { step: Step }) {
  const { at_ms, kind, title, text, facts } = momentOf(step)
  const known = facts.filter((fact) => fact[1] !== null)
  return (
    <li data-kind={kind}>
      <time dateTime={new Date(at_ms).toISOString()} title={localTime(at_ms)}>
        {time(at_ms)}
      </time>
      <div className="wrap">
        <h3>{title}</h3>
        {step.kind === 'install' ? (
          <p>
            <PageLink page="install" id={step.install_uuid}>
              {step.install_uuid}
            </PageLink>
          </p>
        ) : (
          text !== '' && <p>{text}</p>
        )}
        {known.length > 0 && <Facts facts={known} />}
      </div>
    </li>
  )
}
