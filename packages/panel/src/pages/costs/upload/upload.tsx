import { useMemo, useState } from 'react'
import { Button, FileTrigger } from 'react-aria-components'
import { count } from '../../../api/numbers.ts'
import { Choice } from '../../../parts/choice.tsx'
import { Fault } from '../../../parts/fault.tsx'
import { useApp } from '../../../shell/session.ts'
import {
  type CostFile,
  costOf,
  type Field,
  fields,
  findTwice,
  guess,
  type Mapping,
  needed,
  type Source,
} from './cost-file.ts'
import { readCostFile, type Uploaded, useUpload } from './query.ts'
import { texts } from './texts.ts'

const previewed = 5

/** Uploads a file of costs: its columns are mapped to fields, and the first lines are shown as they will be sent. */
export function Upload() {
  const { app_id } = useApp()
  const [file, setFile] = useState<CostFile | null>(null)
  const [mapping, setMapping] = useState<Mapping | null>(null)
  const [unread, setUnread] = useState<string | null>(null)
  const { upload, uploaded } = useUpload(app_id)

  async function open(files: FileList | null) {
    const [chosen] = files ?? []
    if (chosen === undefined) return
    upload.reset()
    setFile(null)
    try {
      const read = await readCostFile(chosen)
      setUnread(null)
      setFile(read)
      setMapping(guess(read.columns))
    } catch (error) {
      setUnread(
        error instanceof RangeError
          ? (texts.unread.get(error.message) ?? texts.broken(error.message))
          : texts.unreadable,
      )
    }
  }
  const missing = mapping === null ? [] : fields.filter((one) => needed.has(one) && isEmpty(mapping[one]))
  const twice = useMemo(() => (file === null || mapping === null ? null : findTwice(file, mapping)), [file, mapping])
  const left_out = file?.columns.filter((column) => !isMapped(column, mapping)) ?? []
  return (
    <section className="card" aria-label={texts.title}>
      <h2>{texts.title}</h2>
      <p className="quiet">{texts.help}</p>
      <div>
        <FileTrigger acceptedFileTypes={['.csv', '.tsv', '.txt', 'text/csv']} onSelect={(files) => void open(files)}>
          <Button className={file === null ? 'button primary' : 'button'} isDisabled={upload.isPending}>
            {texts.choose}
          </Button>
        </FileTrigger>{' '}
        {file !== null && <span className="wrap">{texts.chosen(file.name, count(file.lines.length))}</span>}
      </div>
      {unread !== null && <p role="alert">{unread}</p>}
      {file !== null && mapping !== null && (
        <>
          <div className="form-grid">
            {fields.map((field) => (
              <SourceOf
                key={field}
                field={field}
                columns={file.columns}
                source={mapping[field]}
                onChange={(source) => setMapping({ ...mapping, [field]: source })}
              />
            ))}
          </div>
          <Preview file={file} mapping={mapping} />
          {left_out.length > 0 && <p className="quiet">{texts.leftOut(left_out)}</p>}
          {twice !== null && missing.length === 0 && <p role="status">{texts.twice(...twice)}</p>}
          {missing.length > 0 && <p role="status">{texts.missing(missing)}</p>}
          {upload.error !== null && <Fault error={upload.error} />}
          {uploaded !== null && !upload.isIdle && (
            <Outcome uploaded={uploaded} of={file.lines.length} state={upload.status} />
          )}
          <div>
            <Button
              className="button primary"
              isDisabled={missing.length > 0 || twice !== null}
              isPending={upload.isPending}
              onPress={() => upload.mutate({ file, mapping })}
            >
              {texts.upload(count(file.lines.length))}
            </Button>
          </div>
        </>
      )}
    </section>
  )
}

const isMapped = (column: string, mapping: Mapping | null) =>
  mapping !== null && Object.values(mapping).some((source) => 'column' in source && source.column === column)

const isEmpty = (source: Source) => 'text' in source && source.text.trim() === ''

interface SourceProps {
  field: Field
  columns: readonly string[]
  source: Source
  onChange: (source: Source) => void
}

/** No column has this id: theirs begin with a letter. */
const same_text = '='

/** Where a field comes from: one of the columns, or one text for all lines. */
function SourceOf({ field, columns, source, onChange }: SourceProps) {
  const label = texts.fields[field]
  const ids = columns.map((column) => ({ id: `c${column}`, name: column }))
  const isColumn = 'column' in source
  return (
    <div className="field">
      <Choice
        label={label}
        value={isColumn ? `c${source.column}` : same_text}
        options={[{ id: same_text, name: texts.sameText }, ...ids]}
        onChange={(id) => onChange(id === same_text ? { text: '' } : { column: id.slice(1) })}
      />
      {!isColumn && (
        <input
          className="input"
          aria-label={texts.textOf(label)}
          placeholder={texts.placeholders[field] ?? texts.absent}
          value={source.text}
          maxLength={128}
          spellCheck={false}
          onChange={(event) => onChange({ text: event.currentTarget.value })}
        />
      )}
    </div>
  )
}

function Preview({ file, mapping }: { file: CostFile; mapping: Mapping }) {
  const lines = file.lines.slice(0, previewed).map(({ texts: line }) => costOf(line, mapping))
  return (
    <div className="scroll">
      <table className="plain-table">
        <caption className="quiet">{texts.preview}</caption>
        <thead>
          <tr>
            {fields.map((field) => (
              <th key={field} scope="col">
                {texts.fields[field]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map((cost, n) => (
            <tr key={String(n)}>
              {fields.map((field) => (
                <td key={field} className="wrap">
                  {cost[field] ?? <span className="quiet">-</span>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Outcome({
  uploaded,
  of,
  state,
}: {
  uploaded: Uploaded
  of: number
  state: 'pending' | 'error' | 'success' | 'idle'
}) {
  const { done, accepted, rejected, examples } = uploaded
  return (
    <div role="status">
      {state === 'pending' && <progress aria-label={texts.uploading} value={done} max={of} />}
      <p>{texts.outcome(count(accepted), count(rejected), state)}</p>
      {examples.length > 0 && (
        <ul>
          {examples.map(({ row, reason }) => (
            <li key={row}>{texts.rejected(row, reason)}</li>
          ))}
        </ul>
      )}
      {rejected > examples.length && <p className="quiet">{texts.firstOnly(examples.length)}</p>}
    </div>
  )
}
