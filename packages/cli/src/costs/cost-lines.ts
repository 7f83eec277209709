import { costFields } from '@tributary/contracts/costs'
import { limits } from '@tributary/contracts/limits'
import { CliError } from '../errors.ts'
import { columnsIn, csvObjects } from '../ingest/csv.ts'
import { type FileLine, type OpenedFile, splitLines } from '../ingest/lines.ts'
import type { Mapping } from '../ingest/mapping.ts'
import { printable } from '../output.ts'

/** A line is far longer than the longest cost. */
const line_bytes_max = 64 * 1024

type Fields = Record<string, unknown>
const numeric: ReadonlySet<string> = new Set(['cost', 'clicks', 'impressions'])

/** Sets a field; text that is no number stays text, and the service rejects it. */
function putCost(fields: Fields, field: string, text: string): void {
  const isNumber = numeric.has(field) && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)
  fields[field] = isNumber ? Number(text) : text
}

/** The costs of a file, one a line. */
export async function* costLines(file: OpenedFile, content: AsyncIterable<Buffer>, mapping: Mapping) {
  if (!file.is_csv) return yield* jsonCosts(content, mapping)
  for await (const row of csvObjects(content, mapping, putCost)) {
    if ('reason' in row) yield row satisfies FileLine
    else yield toLine(row.line, row.text, row.fields)
  }
}

async function* jsonCosts(content: AsyncIterable<Buffer>, { set }: Mapping): AsyncGenerator<FileLine> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  for await (const { line, bytes, cut } of splitLines(content, line_bytes_max)) {
    if (cut) {
      yield { line, text: bytes.toString('utf8'), reason: 'body_too_large' }
      continue
    }
    try {
      const text = decoder.decode(bytes).trim()
      if (text === '') continue
      const value: unknown = JSON.parse(text)
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
      if (isObject) for (const [field, constant] of set) putCost(value as Fields, field, constant)
      yield isObject ? toLine(line, text, value as Fields) : { line, text, reason: 'missing_required_fields' }
    } catch {
      yield { line, text: bytes.toString('utf8'), reason: 'bad_json' }
    }
  }
}

function toLine(line: number, text: string, fields: Fields): FileLine {
  const json = JSON.stringify(fields)
  if (Buffer.byteLength(json) > line_bytes_max) return { line, text, reason: 'body_too_large' }
  return { line, text, event: { json, own_id: true, event_name: null, platforms: [] } }
}

/** Throws CliError `unknown_field` for CSV columns and constants that are no field of a cost: each of their lines would be rejected. */
export async function requireCostColumns(file: OpenedFile, mapping: Mapping): Promise<void> {
  const columns = file.is_csv ? await columnsIn(file, mapping) : []
  const filled = [...columns, ...[...mapping.set.keys()].map((field) => ({ name: field, field }))]
  const known: readonly string[] = ['', ...costFields]
  const unknown = filled.filter(({ field }) => !known.includes(field)).map(({ name }) => printable(name))
  if (unknown.length === 0) return
  const [first] = unknown
  throw new CliError(
    'unknown_field',
    `${unknown.join(', ')}: no field of a cost, which has ${costFields.join(', ')}. Use --map ${first}=FIELD, or --map ${first}= to skip the column. Nothing was sent.`,
    2,
  )
}

/** Limits of one request. */
export const cost_batch = { lines_max: limits.costs_max, body_bytes_max: limits.costs_body_bytes_max }
