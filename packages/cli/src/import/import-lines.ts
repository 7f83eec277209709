import { createHash } from 'node:crypto'
import { CliError } from '../errors.ts'
import { csv_bytes_max } from '../ingest/csv.ts'
import { csvRecords } from '../ingest/csv-records.ts'
import { toFileLine } from '../ingest/events.ts'
import { type FileLine, type OpenedFile, type SkippedLine, splitLines } from '../ingest/lines.ts'
import { adjust } from './adjust.ts'
import { appsflyer } from './appsflyer.ts'
import { branch } from './branch.ts'
import { columnName, type Provider, type Row, toEvent } from './provider.ts'

export const providers: readonly Provider[] = [appsflyer, adjust, branch]

/** The form of an export. */
export interface ExportForm {
  provider: Provider
  /** The column that names an install. */
  install_column: string
}

/**
 * Chooses the column that names installs: `given`, else `install_uuid`, else the provider's. Throws CliError `unknown_column`
 * for a file that the provider did not write.
 */
export async function readExportForm(file: OpenedFile, provider: Provider, given?: string): Promise<ExportForm> {
  const columns = await columnsOf(file)
  const ids = given === undefined ? ['install_uuid', ...provider.install_columns] : [columnName(given)]
  const install_column = ids.find((column) => columns.includes(column))
  if (install_column === undefined) throw missing(ids)
  for (const group of provider.needed_columns) if (!group.some((one) => columns.includes(one))) throw missing(group)
  return { provider, install_column }

  function missing(wanted: readonly string[]): CliError {
    const message = `The file has no column ${wanted.join(' or ')}, as exports of ${provider.name} have.`
    return new CliError('unknown_column', message, 2)
  }
}

async function columnsOf(file: OpenedFile): Promise<string[]> {
  for await (const { fields, text } of csvRecords(splitLines(file.open().content, csv_bytes_max)))
    return (fields ?? [text]).map(columnName)
  return []
}

/** The rows of an export as events for `/s2s/events/bulk`. */
export async function* importLines(
  file: OpenedFile,
  content: AsyncIterable<Buffer>,
  { provider, install_column }: ExportForm,
): AsyncGenerator<FileLine | SkippedLine> {
  let columns: string[] | null = null
  for await (const { line, text, fields } of csvRecords(splitLines(content, csv_bytes_max))) {
    if (columns === null) columns = (fields ?? [text]).map(columnName)
    else if (fields?.length !== columns.length) yield { line, text, reason: 'bad_csv' }
    else {
      const row = rowOf(columns, fields)
      const event = toEvent(provider, row)
      if ('skipped' in event) yield { line, text, skipped: event.skipped as string }
      else yield toFileLine(line, text, withIds(provider, row[install_column], event), file, csv_bytes_max)
    }
  }
}

function rowOf(columns: readonly string[], cells: readonly string[]): Row {
  const row: Record<string, string> = Object.create(null)
  columns.forEach((column, n) => {
    const cell = cells[n]!.trim()
    if (cell !== '') row[column] ??= cell
  })
  return row
}

/**
 * The event as it is sent. Without an id of the provider it has one made of its content, so a row that two exports hold counts
 * once, and so do two rows that are equal in all that is imported.
 */
function withIds({ name }: Provider, install_uuid: string | undefined, event: Record<string, unknown>): string {
  const content = { install_uuid, ...event }
  if (event.event_id !== undefined) return JSON.stringify(content)
  const sha256 = createHash('sha256')
    .update(`${name}:${JSON.stringify(content)}`)
    .digest('hex')
  return JSON.stringify({ event_id: `${name}-${sha256.slice(0, 32)}`, ...content })
}
