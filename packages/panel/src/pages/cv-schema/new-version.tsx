import { useState } from 'react'
import { Button, FieldError, Form, Label, TextArea, TextField } from 'react-aria-components'
import type { Output } from '../../api/call.ts'
import { none } from '../../api/numbers.ts'
import { Fault } from '../../parts/fault.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { Sure } from '../../parts/sure.tsx'
import { type Change, useCompare, usePublish } from './query.ts'
import { texts } from './texts.ts'

interface NewVersionProps {
  app_id: string
  live: Output<'getCvSchema'>['schema']
}

/** A schema as JSON: compared with the live one first, published then. */
export function NewVersion({ app_id, live }: NewVersionProps) {
  const compare = useCompare(app_id)
  const publish = usePublish(app_id)
  const [text, setText] = useState(() => JSON.stringify(draftOf(live), null, 2))
  const notJson = compare.error instanceof SyntaxError ? compare.error : null
  const compared = compare.data
  return (
    <section className="figure" aria-label={texts.edit}>
      <header className="figure-head">
        <div>
          <h2>{texts.edit}</h2>
          <p className="quiet">{texts.editHelp}</p>
        </div>
      </header>
      <Form
        className="form"
        onSubmit={(event) => {
          event.preventDefault()
          publish.reset()
          compare.mutate(text)
        }}
      >
        <TextField
          name="json"
          className="field"
          value={text}
          isRequired
          onChange={(given) => {
            setText(given)
            compare.reset()
          }}
        >
          <Label>{texts.json}</Label>
          <TextArea className="input mono" rows={16} spellCheck={false} />
          <FieldError className="field-fault" />
        </TextField>
        {notJson !== null && (
          <p className="field-fault" role="alert">
            {texts.notJson(notJson.message)}
          </p>
        )}
        {compare.error !== null && notJson === null && <Fault error={compare.error} />}
        <div>
          <Button type="submit" className="button" isPending={compare.isPending}>
            {texts.compare}
          </Button>
        </div>
      </Form>
      {publish.data !== undefined && (
        <p role="status">
          <span className="pill good">{texts.published(publish.data.version)}</span>
        </p>
      )}
      {compared !== undefined && publish.data === undefined && (
        <>
          <h3>{texts.changes}</h3>
          {compared.changes.length === 0 ? (
            <p className="quiet">{texts.same}</p>
          ) : (
            <>
              <DataTable label={texts.changes} columns={columns} items={compared.changes} idOf={idOf} empty="" />
              <div>
                <Sure
                  action={texts.publish}
                  subject={texts.edit}
                  help={texts.publishHelp}
                  work={() => publish.mutateAsync(compared.schema)}
                />
              </div>
            </>
          )}
        </>
      )}
    </section>
  )
}

/** Where nothing is live yet: the smallest schema that means something. */
const first = {
  postbacks: [
    {
      ...{ postback_sequence_index: 0, window_hours: 48, lock_window: false },
      fine: [
        { value: 0, name: 'opened' },
        { value: 1, name: 'first purchase', revenue_min_usd: 0.99, event_name: 'purchase' },
      ],
      coarse: [],
    },
  ],
}
const draftOf = (live: NewVersionProps['live']) => (live === null ? first : { postbacks: live.postbacks })

const write = (part: Change['before']): string =>
  part === null
    ? none
    : Object.entries(part)
        .filter(([name, value]) => name !== 'value' && value !== null)
        .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${value}`)
        .join(', ')

const columns: DataColumn<Change>[] = [
  { id: 'where', name: texts.where, value: (one) => texts.postbacks[one.postback_sequence_index] },
  { id: 'part', name: texts.part, value: ({ part, value }) => [part, value].filter((one) => one !== null).join(' ') },
  {
    ...{ id: 'change', name: texts.change },
    value: ({ before, after }) => (before === null ? texts.added : after === null ? texts.removed : texts.changed),
  },
  { id: 'before', width: 340, name: texts.before, value: ({ before }) => write(before) },
  { id: 'after', width: 340, name: texts.after, value: ({ after }) => write(after) },
]
const idOf = ({ postback_sequence_index, part, value }: Change) => `${postback_sequence_index} ${part} ${value}`
