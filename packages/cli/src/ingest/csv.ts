import { limits } from '@tributary/contracts/limits'
import { isTimeWithoutZone } from '@tributary/domain/accept/fault-message'
import { CliError } from '../errors.ts'
import { csvRecords } from './csv-records.ts'
import { toFileLine, wrapping_bytes } from './events.ts'
import { type FileLine, type OpenedFile, splitLines } from './lines.ts'
import { type Mapping, put } from './mapping.ts'

/** Limit of one line. */
export const csv_bytes_max = limits.bulk_body_bytes_max - wrapping_bytes
const without_zone = 'event_ts_ms has no zone: add Z for UTC, or an offset such as +02:00.'

/** Events of a CSV file with a header line. Rejects a row that is not CSV, has another number of columns, or a time without zone. */
export async function* csvLines(
  file: OpenedFile,
  content: AsyncIterable<Buffer>,
  mapping: Mapping,
): AsyncGenerator<FileLine> {
  for await (const row of csvObjects(content, mapping, put)) {
    const { line, text } = row
    if ('reason' in row) yield row
    else if (isTimeWithoutZone(row.fields.event_ts_ms))
      yield { line, text, reason: 'time_without_zone', message: without_zone }
    else yield toFileLine(line, text, JSON.stringify(row.fields), file, csv_bytes_max)
  }
}

/** Sets a field of a row from the text of a cell. */
export type PutCell = (fields: Record<string, unknown>, field: string, text: string) => void

type CsvObject = { line: number; text: string } & ({ fields: Record<string, unknown> } | { reason: string })

/** The rows of a CSV file by the fields that its columns and the mapping fill. */
export async function* csvObjects(
  content: AsyncIterable<Buffer>,
  mapping: Mapping,
  putCell: PutCell,
): AsyncGenerator<CsvObject> {
  let columns: string[] | null = null
  for await (const { line, text, fields } of csvRecords(splitLines(content, csv_bytes_max))) {
    if (columns === null) columns = columnsOf(fields ?? [text], mapping)
    else if (fields?.length !== columns.length) yield { line, text, reason: 'bad_csv' }
    else yield { line, text, fields: toFields(columns, fields, mapping, putCell) }
  }
}

/** The columns in the header of a file, with the field that each fills. Throws CliError as `csvLines` does. */
export async function columnsIn(file: OpenedFile, mapping: Mapping): Promise<{ name: string; field: string }[]> {
  for await (const { text, fields } of csvRecords(splitLines(file.open().content, csv_bytes_max))) {
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

function toFields(
  columns: readonly string[],
  record: readonly string[],
  { set, absent }: Mapping,
  putCell: PutCell,
): Record<string, unknown> {
  const fields: Record<string, unknown> = Object.create(null)
  for (const [field, value] of set) putCell(fields, field, value)
  columns.forEach((field, index) => {
    const text = record[index] ?? ''
    if (field !== '' && !absent.has(text)) putCell(fields, field, text)
  })
  return fields
}
