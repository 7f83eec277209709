import { columnsIn, csvLines } from '../csv.ts'
import { type EventLimits, jsonLines } from '../events.ts'
import type { FileLine, OpenedFile } from '../lines.ts'
import type { Mapping } from '../mapping.ts'
import { Findings } from './findings.ts'
import { findMeantField, isColumnField } from './meant-field.ts'

/** Lines that are read before the first one is sent. */
const first_lines_max = 1000

/** How a command reads its file. */
export interface FileForm extends EventLimits {
  mapping: Mapping
}

/** The lines of a file, from its beginning. */
export function linesOf(file: OpenedFile, content: AsyncIterable<Buffer>, form: FileForm): AsyncGenerator<FileLine> {
  return file.is_csv ? csvLines(file, content, form.mapping) : jsonLines(file, content, form)
}

/** A column or constant of a CSV file, or a field of JSON, that is no field of an event. */
export interface UnknownName {
  name: string
  /** The event field that it probably means. */
  did_you_mean: string | null
}

/** The columns and constants whose values would go into a field that events do not have. Empty for JSON. */
export async function findUnknownColumns(file: OpenedFile, { mapping }: FileForm): Promise<UnknownName[]> {
  if (!file.is_csv) return []
  const columns = [
    ...(await columnsIn(file, mapping)),
    ...[...mapping.set.keys()].map((field) => ({ name: field, field })),
  ]
  return columns
    .filter(({ field }) => field !== '' && !isColumnField(field))
    .map(({ name, field }) => ({ name, did_you_mean: findMeantField(field) }))
}

/** What the first lines of a file have. */
export async function readFirstLines(file: OpenedFile, form: FileForm): Promise<Findings> {
  const found = new Findings()
  let lines = 0
  for await (const line of linesOf(file, file.open().content, form)) {
    if ('event' in line) found.add(JSON.parse(line.event.json))
    lines += 1
    if (lines === first_lines_max) break
  }
  return found
}
