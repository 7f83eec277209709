import { Button, Form } from 'react-aria-components'
import { addressOf } from '../../api/address.ts'
import { time } from '../../api/numbers.ts'
import { Choice } from '../../parts/choice.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Fault } from '../../parts/fault.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { givenOf } from '../../parts/given.ts'
import { Scroller } from '../../parts/scroller.tsx'
import { Skeleton } from '../../parts/skeleton.tsx'
import { TextInput } from '../../parts/text-input.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import { useSetWords, useWords } from '../../shell/words.ts'
import { changesOf } from './changes.ts'
import { all, type Entry, useAuditLog, useFilters, useScope } from './query.ts'
import { texts } from './texts.ts'

/** Who did what. */
export default function AuditLog() {
  const { open } = useWords()
  const log = useAuditLog()
  const entries = log.data?.pages.flatMap((page) => page.entries)
  const shown = entries?.find(({ id }) => String(id) === open)
  return (
    <>
      <p className="quiet">{texts.help}</p>
      <Filters />
      {shown !== undefined && <OneEntry entry={shown} />}
      {log.error !== null && <Fault error={log.error} retry={() => void log.refetch()} />}
      {entries === undefined && log.error === null && <Skeleton shape="table" />}
      {entries !== undefined && (
        <section className="figure" aria-label={texts.title}>
          <DataTable label={texts.title} columns={columns} items={entries} idOf={idOf} empty={texts.none} />
          {log.hasNextPage && (
            <div>
              <Button className="button" isPending={log.isFetchingNextPage} onPress={() => void log.fetchNextPage()}>
                {texts.older}
              </Button>
            </div>
          )}
        </section>
      )}
    </>
  )
}

function Filters() {
  const words = useWords()
  const setWords = useSetWords()
  const { operator, own, company_id } = useScope()
  const query = useFilters()
  const scopes = [
    ...(operator ? [{ id: all, name: texts.all }] : []),
    ...own.map((one) => ({ id: one.company_id, name: one.name })),
  ]
  return (
    <Form
      className="filters"
      key={`${words.actor} ${words.action} ${words.subject}`}
      onSubmit={(event) => {
        event.preventDefault()
        const given = givenOf(event.currentTarget)
        setWords({ actor: given('actor'), action: given('action'), subject: given('subject'), open: undefined })
      }}
    >
      {scopes.length > 1 && (
        <Choice
          label={texts.company}
          value={company_id ?? all}
          options={scopes}
          onChange={(id) => setWords({ scope: id, open: undefined })}
        />
      )}
      <TextInput name="actor" label={texts.actor} placeholder={texts.actorHelp} defaultValue={words.actor ?? ''} />
      <TextInput name="action" label={texts.action} placeholder={texts.actionHelp} defaultValue={words.action ?? ''} />
      <TextInput name="subject" label={texts.subject} defaultValue={words.subject ?? ''} mono />
      <Button type="submit" className="button">
        {texts.apply}
      </Button>
      <a
        className="button"
        href={addressOf('readAuditLog', { query: { ...query, format: 'csv' } })}
        download="audit-log.csv"
      >
        {texts.csv}
      </a>
    </Form>
  )
}

function OneEntry({ entry }: { entry: Entry }) {
  const setWords = useSetWords()
  const changes = changesOf(entry)
  return (
    <section className="card" aria-label={`${entry.action} ${entry.subject}`}>
      <div className="line">
        <h2 className="wrap">{entry.action}</h2>
        <Button className="button small end" onPress={() => setWords({ open: undefined })}>
          {texts.close}
        </Button>
      </div>
      <Facts
        facts={[
          [texts.at, time(entry.at_ms)],
          [texts.actor, entry.actor],
          [texts.person, entry.person_id],
          [texts.ip, entry.ip],
          [texts.subject, entry.subject],
          [texts.company, entry.company_id],
          [texts.request, entry.request_id],
        ]}
      />
      {changes.length > 0 && (
        <Scroller className="scroll" label={texts.change}>
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{texts.change}</th>
                <th scope="col">{texts.before}</th>
                <th scope="col">{texts.after}</th>
              </tr>
            </thead>
            <tbody>
              {changes.map(({ name, before, after }) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td className="wrap">{before}</td>
                  <td className="wrap">{after}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroller>
      )}
    </section>
  )
}

const columns: DataColumn<Entry>[] = [
  {
    ...{ id: 'at', width: 200, name: texts.at, value: ({ at_ms }: Entry) => at_ms },
    cell: ({ id, at_ms }) => (
      <PageLink page="audit-log" words={{ open: String(id) }} kept className="cut">
        {time(at_ms)}
      </PageLink>
    ),
  },
  { id: 'actor', width: 220, name: texts.actor, value: ({ actor }) => actor },
  { id: 'action', name: texts.action, value: ({ action }) => action },
  { id: 'subject', width: 260, name: texts.subject, value: ({ subject }) => subject },
  { id: 'change', width: 340, name: texts.change, value: (entry) => summaryOf(entry) },
]
const idOf = ({ id }: Entry) => String(id)

const summaryOf = (entry: Entry): string | null =>
  changesOf(entry)
    .map(({ name, before, after }) => (before === '-' ? `${name}: ${after}` : `${name}: ${before} → ${after}`))
    .join(', ') || null
