import { Button, Form } from 'react-aria-components'
import type { Output } from '../../api/call.ts'
import { time } from '../../api/numbers.ts'
import { Choice } from '../../parts/choice.tsx'
import { Fault } from '../../parts/fault.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { Skeleton } from '../../parts/skeleton.tsx'
import { TextInput } from '../../parts/text-input.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import { useSetWords, useWords } from '../../shell/words.ts'
import { useInstalls } from './query.ts'
import { texts } from './texts.ts'

type Install = Output<'listAppInstalls'>['installs'][number]

const columns: DataColumn<Install>[] = [
  {
    ...{ id: 'install', name: texts.install, width: 330, value: ({ install_uuid }: Install) => install_uuid },
    cell: ({ install_uuid }) => (
      <PageLink page="install" id={install_uuid} className="mono cut">
        {install_uuid}
      </PageLink>
    ),
  },
  {
    id: 'installed',
    width: 220,
    name: texts.installed,
    value: ({ installed_at_ms }) => installed_at_ms,
    cell: ({ installed_at_ms }) => time(installed_at_ms),
  },
  { id: 'partner', name: texts.partner, value: ({ partner }) => partner },
  { id: 'campaign', name: texts.campaign, value: ({ campaign }) => campaign },
  { id: 'type', width: 150, name: texts.type, value: ({ attribution_type }) => attribution_type.replaceAll('_', ' ') },
  { id: 'reinstall', name: texts.reinstall, value: ({ reinstall }) => (reinstall ? texts.yes : null) },
  { id: 'flags', name: texts.flags, value: ({ fraud_flags }) => fraud_flags.join(', ').replaceAll('_', ' ') || null },
]
const idOf = ({ install_uuid }: Install) => install_uuid
const flags = [
  { id: 'any', name: texts.any },
  { id: 'true', name: texts.withFlags },
  { id: 'false', name: texts.withoutFlags },
] as const

/** The installs behind a number, each with its verdict. */
export default function Installs() {
  const words = useWords()
  const setWords = useSetWords()
  const { data, error, isPlaceholderData, refetch } = useInstalls()
  return (
    <>
      <p className="quiet">{texts.help}</p>
      <Form
        className="filters"
        key={`${words.partner} ${words.campaign}`}
        onSubmit={(event) => {
          event.preventDefault()
          const given = new FormData(event.currentTarget)
          const word = (name: string) => String(given.get(name)) || undefined
          setWords({ partner: word('partner'), campaign: word('campaign') })
        }}
      >
        <TextInput name="partner" label={texts.partner} defaultValue={words.partner ?? ''} />
        <TextInput name="campaign" label={texts.campaign} defaultValue={words.campaign ?? ''} />
        <Choice
          label={texts.flagged}
          value={flags.find(({ id }) => id === words.flagged)?.id ?? 'any'}
          options={flags}
          onChange={(id) => setWords({ flagged: id === 'any' ? undefined : id })}
        />
        <Button type="submit" className="button">
          {texts.apply}
        </Button>
      </Form>
      {error !== null && <Fault error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton shape="table" />}
      {data !== undefined && (
        <section className="figure" data-stale={isPlaceholderData || undefined} aria-label={texts.title}>
          <DataTable label={texts.title} columns={columns} items={data.installs} idOf={idOf} empty={texts.none} />
          {data.next_cursor !== null && <p className="quiet">{texts.more(data.installs.length)}</p>}
        </section>
      )}
    </>
  )
}
