import type { ReactNode } from 'react'
import { useEffect } from 'react'
import { Button, Form } from 'react-aria-components'
import type { Output } from '../../api/call.ts'
import { limits } from '../../api/declared/limits.ts'
import { longDay, money, time } from '../../api/numbers.ts'
import { Facts } from '../../parts/facts.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Skeleton } from '../../parts/skeleton.tsx'
import { TextInput } from '../../parts/text-input.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import { useOpen, useSetWords } from '../../shell/words.ts'
import { useFound } from './query.ts'
import { texts } from './texts.ts'

type Found = Output<'findInApp'>['found'][number]

/** What an id is, and what became of the event. A single install opens at once. */
export default function Find() {
  const { q, found } = useFound()
  const setWords = useSetWords()
  const open = useOpen()
  const [only, ...others] = found.data?.found ?? []
  const install = only?.kind === 'install' && others.length === 0 ? only.install_uuid : undefined
  useEffect(() => {
    if (install !== undefined) open('install', {}, install)
  }, [install, open])
  return (
    <>
      <Form
        key={q}
        className="filters"
        onSubmit={(event) => {
          event.preventDefault()
          const given = String(new FormData(event.currentTarget).get('q')).trim()
          if (given !== '') setWords({ q: given })
        }}
      >
        <TextInput name="q" label={texts.label} defaultValue={q} maxLength={limits.find_chars_max} autoFocus mono />
        <Button type="submit" className="button primary">
          {texts.submit}
        </Button>
      </Form>
      {found.error !== null && <Fault error={found.error} retry={() => void found.refetch()} />}
      {found.isFetching && found.data === undefined && <Skeleton shape="table" />}
      {found.data?.found.length === 0 && (
        <div className="empty">
          <h2>{texts.nothing}</h2>
          <p className="quiet">{texts.nothingHelp}</p>
        </div>
      )}
      <ul className="cards">
        {found.data?.found.map((one, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an answer never changes its order
          <li key={n} className="card">
            <h2>{texts.kinds[one.kind]}</h2>
            <FoundFacts one={one} />
          </li>
        ))}
      </ul>
      {found.data?.events_since && <p className="quiet">{texts.searched(longDay(found.data.events_since))}</p>}
    </>
  )
}

const InstallLink = ({ id }: { id: string }) => (
  <PageLink page="install" id={id}>
    {id}
  </PageLink>
)

function FoundFacts({ one }: { one: Found }) {
  switch (one.kind) {
    case 'install':
      return <InstallLink id={one.install_uuid} />
    case 'user':
      return (
        <Facts
          facts={[
            ['User id', one.user_id],
            ...one.installs.map((install): [string, ReactNode] => [
              time(install.since_ms),
              <InstallLink key={install.install_uuid} id={install.install_uuid} />,
            ]),
          ]}
        />
      )
    case 'click':
      return (
        <Facts
          facts={[
            ['Click id', one.click_id],
            ['Clicked', time(one.clicked_at_ms)],
            ['Partner', one.partner],
            ['Campaign', one.campaign],
            ['Attributes nothing', one.filtered_reason],
            ...one.install_uuids.map((id): [string, ReactNode] => ['Verdict of', <InstallLink key={id} id={id} />]),
          ]}
        />
      )
    default:
      return (
        <Facts
          facts={[
            ['Event', `${one.event_name} (${one.event_id})`],
            ['Install', <InstallLink key="install" id={one.install_uuid} />],
            ['Happened', time(one.event_ts_ms)],
            ['Received', `${time(one.received_at_ms)} by ${one.source}`],
            ['Audit object', one.audit_key],
            ['Position', `${one.position.topic} ${one.position.partition}:${one.position.offset}`],
            ...(one.money
              ? ([
                  ['Money', money(one.money.amount, one.money.currency)],
                  ['Transaction', one.money.transaction_id],
                  [
                    'Counts',
                    one.money.counts
                      ? 'yes'
                      : one.money.beaten_by
                        ? `no: ${one.money.beaten_by.event_id ?? 'another event'} has it`
                        : 'no: its receipt or that of another event decides',
                  ],
                ] as [string, ReactNode][])
              : []),
          ]}
        />
      )
  }
}
