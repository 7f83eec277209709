/** Content type of the answers in this form (RFC 4180, RFC 7111). */
export const csv_type = 'text/csv; charset=utf-8; header=present'

type Row = Readonly<Record<string, unknown>>

/** Lines of a CSV file (RFC 4180), each with its CRLF; docs/rules.md#csv-answers. Never adds a header line. */
export const csvLines = (columns: readonly string[], rows: readonly Row[]): string =>
  rows.map((row) => csvLine(columns.map((column) => row[column]))).join('')

/** One line, such as the header line. Numbers stay as they are, objects are JSON; text is made harmless for spreadsheets. */
export const csvLine = (cells: readonly unknown[]): string => `${cells.map(cell).join(',')}\r\n`

function cell(value: unknown): string {
  if (typeof value === 'object' && value !== null) return quoted(JSON.stringify(value))
  return typeof value === 'string' ? quoted(harmless(value)) : String(value ?? '')
}

/**
 * A spreadsheet runs a text that begins with one of `=+-@` (OWASP, "CSV Injection"), and takes their full-width forms for
 * them. Tabs, line breaks, blanks and characters without a width get lost on import: the next character is the first one then.
 */
const runs = /^(?:[\t\r\p{Default_Ignorable_Code_Point}]|[\s\p{Cc}\p{Default_Ignorable_Code_Point}]*[=+\-@＝＋－＠])/u
const harmless = (text: string): string => (runs.test(text) ? `'${text}` : text)

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
