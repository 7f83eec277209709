import type { RawLine } from './lines.ts'

/** One record. `fields` is null when it is not CSV (RFC 4180, comma, UTF-8) or too long. */
export interface CsvRecord {
  /** Number of its first line. */
  line: number
  text: string
  fields: string[] | null
}

/** Limits of one record, so that an unclosed quote can't consume the rest of the file. */
const record_lines_max = 1000
const record_chars_max = 1024 * 1024

/**
 * Reads records from CSV lines and skips blank lines. When a line begins no valid record, only that line is rejected and
 * reading continues with the next one.
 */
export async function* csvRecords(source: AsyncIterable<RawLine>): AsyncGenerator<CsvRecord> {
  const lines = source[Symbol.asyncIterator]()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let waiting: RawLine[] = []
  const next = async () => waiting.shift() ?? ((await lines.next()).value as RawLine | undefined)

  try {
    for (let first = await next(); first !== undefined; first = await next()) {
      const start = decode(decoder, first)
      if (start === '') continue
      let found = start === null ? null : parseRecord(start)
      let text = start ?? first.bytes.toString('utf8')
      const more: RawLine[] = []
      while (found === 'open' && more.length < record_lines_max && text.length < record_chars_max) {
        const line = await next()
        const added = line === undefined ? null : decode(decoder, line)
        if (line !== undefined) more.push(line)
        if (added === null) break
        text += `\n${added}`
        if (added.includes('"')) found = parseRecord(text)
      }
      if (Array.isArray(found)) yield { line: first.line, text, fields: found }
      else {
        yield { line: first.line, text: start ?? text, fields: null }
        waiting = [...more, ...waiting]
      }
    }
  } finally {
    await lines.return?.() // whoever reads the header alone leaves the file here
  }
}

function decode(decoder: InstanceType<typeof TextDecoder>, { bytes, cut }: RawLine): string | null {
  if (cut) return null
  try {
    return decoder.decode(bytes).replace(/\r$/, '')
  } catch {
    return null
  }
}

/** The fields of one record; `open` when it ends inside quotes, null when text follows a closing quote. */
function parseRecord(text: string): string[] | 'open' | null {
  if (!text.includes('"')) return text.split(',')
  const fields: string[] = []
  for (let at = 0; ; at += 1) {
    if (text[at] !== '"') {
      const end = text.indexOf(',', at)
      fields.push(text.slice(at, end === -1 ? undefined : end))
      if (end === -1) return fields
      at = end
      continue
    }
    const end = closingQuote(text, at + 1)
    if (end === -1) return 'open'
    fields.push(text.slice(at + 1, end).replaceAll('""', '"'))
    at = end + 1
    if (at === text.length) return fields
    if (text[at] !== ',') return null
  }
}

/** Position of the quote that closes a field. A doubled quote is part of the field. */
function closingQuote(text: string, from: number): number {
  let end = text.indexOf('"', from)
  while (end !== -1 && text[end + 1] === '"') end = text.indexOf('"', end + 2)
  return end
}
