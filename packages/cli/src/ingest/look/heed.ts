import { CliError } from '../../errors.ts'
import { printable } from '../../output.ts'
import type { OpenedFile } from '../lines.ts'
import type { Findings } from './findings.ts'
import { type FileForm, findUnknownColumns, readFirstLines, type UnknownName } from './first-lines.ts'
import { findMeantField } from './meant-field.ts'

export interface LookOptions {
  /** Fields that events do not have are meant. */
  extra_fields: boolean
  json: boolean
  /** Asks a person; false without one. */
  confirm(question: string): Promise<boolean>
}

const named_max = 10

/**
 * Reads the beginning of a file before anything is sent, since an accepted event never changes. Throws CliError
 * `unknown_field` for CSV columns that are no field, unless they are meant. What else looks wrong is a warning.
 */
export async function lookAhead(file: OpenedFile, form: FileForm, options: LookOptions): Promise<void> {
  const columns = await findUnknownColumns(file, form)
  if (columns.length > 0 && !options.extra_fields) {
    const text = describeColumns(columns)
    if (!(await options.confirm(`${text}\nSend the file all the same?`))) throw refusal(text)
  }
  const found = await readFirstLines(file, form)
  if (!file.is_csv && !options.extra_fields) warnOfFields(unknownNames(found), options)
  warnOfMoney(found, options)
}

/** The error of a file whose columns are no fields, as `lookAhead` throws it. */
export const refuseColumns = (columns: readonly UnknownName[]): CliError => refusal(describeColumns(columns))

const refusal = (text: string): CliError => new CliError('unknown_field', `${text}\nNothing was sent.`, 2)

/** The fields of JSON lines that events do not have. */
export const unknownNames = ({ unknown }: Findings): UnknownName[] =>
  [...unknown].map((name) => ({ name, did_you_mean: findMeantField(name) }))

function describeColumns(columns: readonly UnknownName[]): string {
  const lines = columns.slice(0, named_max).map(({ name, did_you_mean }) => {
    const shown = printable(name)
    if (did_you_mean === null) {
      return `  ${shown}: no field of an event; use --map ${shown}=props.${shown}, --map ${shown}= to skip it, or --extra-fields`
    }
    return `  ${shown}: no field of an event; did you mean ${did_you_mean}? use --map ${shown}=${did_you_mean} or --extra-fields`
  })
  const head = 'These columns are no fields of an event. No report would read their values:'
  return [head, ...lines, ...more(columns), way_back].join('\n')
}

/** The cost of a wrong name, and what can be done afterwards (docs/api.md#history-from-a-file). */
const way_back =
  'An accepted event never changes, and a corrected line with its event_id is a duplicate. ' +
  'To correct what was sent, send the lines again with an event_id of their own each.'

function warnOfFields(fields: readonly UnknownName[], options: LookOptions): void {
  if (fields.length === 0) return
  const names = fields.slice(0, named_max).map(({ name, did_you_mean }) => {
    const meant = did_you_mean === null ? '' : ` (did you mean ${did_you_mean}?)`
    return `${printable(name)}${meant}`
  })
  const list = [names.join(', '), ...more(fields)].join(',')
  warn(
    'unknown_fields',
    `these are no fields of an event, and no report reads them: ${list}. ${way_back} --extra-fields ends this warning.`,
    options,
  )
}

function warnOfMoney({ events, without_revenue }: Findings, options: LookOptions): void {
  if (without_revenue.size === 0) return
  const names = [...without_revenue].map(([name, count]) => `${name} ${count}`).join(', ')
  const text = `among the first ${events} events, these have a name of money and no revenue: ${names}. They bring no money.`
  warn('no_revenue', text, options)
}

const more = (names: readonly unknown[]): string[] =>
  names.length > named_max ? [` and ${names.length - named_max} more`] : []

/** A warning stands on stderr: stdout holds the answer alone. */
function warn(code: string, message: string, { json }: LookOptions): void {
  process.stderr.write(json ? `${JSON.stringify({ warning: code, message })}\n` : `Warning: ${message}\n`)
}
