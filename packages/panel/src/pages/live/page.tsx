import { useState } from 'react'
import { Button, Disclosure, DisclosurePanel, Form, Heading } from 'react-aria-components'
import { count, localTime, time, timeOfDay } from '../../api/numbers.ts'
import { Snippet } from '../../parts/copy-button.tsx'
import { Facts } from '../../parts/facts.tsx'
import { FirstEvent } from '../../parts/first-event.tsx'
import { TextInput } from '../../parts/text-input.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import { useApp } from '../../shell/session.ts'
import { useSetWords, useWords } from '../../shell/words.ts'
import { type Shown, useFeed } from './query.ts'
import { texts } from './texts.ts'

const looks = { accepted: 'good', rejected: 'bad', refused: 'bad', kept: 'warn' } as const

/** What comes in, as it comes in: what was accepted, and why something was not. */
export default function Live() {
  const app = useApp()
  const words = useWords()
  const setWords = useSetWords()
  const [paused, setPaused] = useState(false)
  const { install, name, code } = words
  const { state, items, held, gap, end } = useFeed(app.app_id, { install, name, code }, paused)
  return (
    <>
      <div className="line">
        <span className={`pill ${state === 'open' ? 'good' : 'warn'}`} role="status">
          {state === 'open' ? texts.open : end === null ? texts.closed : texts.ended[end]}
        </span>
        <Button className="button small" onPress={() => setPaused(!paused)}>
          {paused ? texts.go : texts.pause}
        </Button>
        {paused && <span className="quiet number">{texts.paused(held)}</span>}
        {gap > 0 && <span className="quiet number">{texts.gap(gap)}</span>}
      </div>
      <Form
        className="filters"
        onSubmit={(event) => {
          event.preventDefault()
          const given = new FormData(event.currentTarget)
          const word = (field: string) => String(given.get(field)).trim() || undefined
          setWords({ install: word('install'), name: word('name'), code: word('code') })
        }}
      >
        <TextInput name="install" label={texts.install} defaultValue={install ?? ''} mono />
        <TextInput name="name" label={texts.name} defaultValue={name ?? ''} />
        <TextInput name="code" label={texts.code} defaultValue={code ?? ''} mono />
        <Button type="submit" className="button">
          {texts.apply}
        </Button>
      </Form>
      {items.length === 0 ? (
        <section className="empty">
          <h2>{texts.waiting}</h2>
          <p className="quiet">{texts.waitingHelp}</p>
          <FirstEvent app={app} />
        </section>
      ) : (
        <div className="live">
          {items.map((item) => (
            <LiveRow key={item.n} item={item} />
          ))}
        </div>
      )}
    </>
  )
}

function LiveRow({ item }: { item: Shown }) {
  const { kind, at_ms, code, field, event_name, message, unproven } = item
  return (
    <Disclosure className="live-item">
      <Heading level={3}>
        <Button slot="trigger" className="trigger">
          <time className="quiet number" dateTime={new Date(at_ms).toISOString()}>
            {timeOfDay(at_ms)}
          </time>
          <span className={`pill ${looks[kind]}`}>{texts.kinds[kind]}</span>
          <strong className="cut">{event_name ?? texts.request}</strong>
          <span className="cut quiet">
            {code !== null && <code>{code}</code>} {field !== null && <code>{field}</code>} {message}
            {unproven && ` · ${texts.unproven}`}
          </span>
        </Button>
      </Heading>
      <DisclosurePanel>
        <More item={item} />
      </DisclosurePanel>
    </Disclosure>
  )
}

function More({ item }: { item: Shown }) {
  const { at_ms, route, request_id, code, field, message, unproven } = item
  const whole = item.kind === 'kept' ? null : item
  return (
    <div className="more">
      <Facts
        facts={[
          [
            'Time',
            <span key="time" title={localTime(at_ms)}>
              {time(at_ms)}
            </span>,
          ],
          ['Route', route],
          ['Request', request_id],
          ...(code === null
            ? []
            : ([
                [
                  'Code',
                  <a key="code" href={`/docs/errors#${code}`}>
                    {code}
                  </a>,
                ],
                ['Field', field],
                ['Message', message],
              ] as const)),
          ...(whole?.install_uuid
            ? ([
                [
                  'Install',
                  <PageLink key="install" page="install" id={whole.install_uuid}>
                    {whole.install_uuid}
                  </PageLink>,
                ],
              ] as const)
            : []),
          ...(whole?.event_id ? ([['Event id', whole.event_id]] as const) : []),
          ...(whole?.ip ? ([['Address', whole.ip]] as const) : []),
          ...(unproven ? ([['Proof', texts.unprovenHelp]] as const) : []),
        ]}
      />
      {whole?.raw && <Snippet label={`JSON, ${count(whole.raw.length)} characters`} text={whole.raw} />}
    </div>
  )
}
