import { limits } from '@tributary/contracts/limits'
import { CliError, usageError } from '../errors.ts'
import { csvRecords } from './csv-records.ts'
import { toFileLine, wrapping_bytes } from './events.ts'
import { type FileLine, type OpenedFile, splitLines } from './lines.ts'

export interface Mapping {
  /** Column to field. An empty field skips the column. Other columns fill the field of their own name. */
  map: ReadonlyMap<string, string>
  /** Fields with the same value on every line. */
  set: ReadonlyMap<string, string>
  /** Texts that mean "no value", including the empty text. */
  absent: ReadonlySet<string>
}

/** Reads `--map column=field`, `--set field=value` and `--absent text`. Throws a usage error. */
export function parseMapping(map: readonly string[], set: readonly string[], absent: readonly string[]): Mapping {
  return { map: pairs('--map', map), set: pairs('--set', set), absent: new Set(['', ...absent]) }
}

function pairs(option: string, texts: readonly string[]): Map<string, string> {
  const entries = texts.map((text): [string, string] => {
    const at = text.indexOf('=')
    if (at < 1) throw usageError(`${option} ${text}: the form is name=value.`)
    return [text.slice(0, at), text.slice(at + 1)]
  })
  return new Map(entries)
}

const bytes_max = limits.bulk_body_bytes_max - wrapping_bytes

/** Events of a CSV file with a header line. Rejects a row that is not CSV or has another number of columns. */
export async function* csvLines(
  file: OpenedFile,
  content: AsyncIterable<Buffer>,
  mapping: Mapping,
): AsyncGenerator<FileLine> {
  let columns: string[] | null = null
  for await (const { line, text, fields } of csvRecords(splitLines(content, bytes_max))) {
    if (columns === null) columns = columnsOf(fields ?? [text], mapping)
    else if (fields?.length !== columns.length) yield { line, text, reason: 'bad_csv' }
    else yield toFileLine(line, text, JSON.stringify(toEventFields(columns, fields, mapping)), file, bytes_max)
  }
}

/** The columns in the header of a file, with the field that each fills. Throws CliError as `csvLines` does. */
export async function columnsIn(file: OpenedFile, mapping: Mapping): Promise<{ name: string; field: string }[]> {
  for await (const { text, fields } of csvRecords(splitLines(file.open().content, bytes_max))) {
    const header = fields ?? [text]
    return columnsOf(header, mapping).map((field, index) => ({ name: header[index]!, field }))
  }
  return []
}

/** The field that each column fills. */
function columnsOf(header: readonly string[], { map, set }: Mapping): string[] {
  const missing = [...map.keys()].filter((column) => !header.includes(column))
  if (missing.length > 0) {
    throw new CliError('unknown_column', `The file has no column ${missing.join(', ')}; it has ${header.join(', ')}.`)
  }
  const fields = header.map((column) => map.get(column) ?? column)
  const filled = [...fields.filter((field) => field !== ''), ...set.keys()]
  const twice = filled.find((field, index) => filled.indexOf(field) !== index)
  if (twice !== undefined) throw new CliError('field_twice', `Two columns or constants fill the field ${twice}.`)
  return fields
}

function toEventFields(fields: readonly string[], record: readonly string[], { set, absent }: Mapping): object {
  const event: Record<string, unknown> = Object.create(null)
  for (const [field, value] of set) put(event, field, value)
  fields.forEach((field, index) => {
    const text = record[index] ?? ''
    if (field !== '' && !absent.has(text)) put(event, field, text)
  })
  return event
}

/** Sets one field. `props.NAME` and `device.NAME` go into those objects. */
function put(event: Record<string, unknown>, field: string, text: string): void {
  const [, outer, inner] = /^(props|device)\.(.+)$/s.exec(field) ?? []
  if (outer === undefined || inner === undefined) {
    event[field] = typed(field, text)
    return
  }
  event[outer] ??= Object.create(null)
  const object = event[outer] as Record<string, unknown>
  if (typeof object === 'object') object[inner] = text
}

/** Converts the fields with numbers and times. Other text stays text, and the service rejects the line if it must. */
function typed(field: string, text: string): unknown {
  if (field === 'revenue' && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return Number(text)
  if (field !== 'event_ts_ms') return text
  if (/^\d+$/.test(text)) return Number(text)
  const is_time = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/.test(text)
  const at_ms = is_time ? Date.parse(text.replace(' ', 'T')) : Number.NaN
  return Number.isNaN(at_ms) ? text : at_ms
}
