/** Content type of the answers in this form (RFC 4180, RFC 7111). */
export const csv_type = 'text/csv; charset=utf-8; header=present'

type Row = Readonly<Record<string, unknown>>

/** Lines of a CSV file (RFC 4180), each with its CRLF; docs/rules.md#csv-answers. Never adds a header line. */
export const csvLines = (columns: readonly string[], rows: readonly Row[]): string =>
  rows.map((row) => csvLine(columns.map((column) => row[column]))).join('')

/** One line, such as the header line. Numbers stay as they are, objects are JSON; text is made harmless for spreadsheets. */
export const csvLine = (cells: readonly unknown[]): string => `${cells.map(cell).join(',')}\r\n`

function cell(value: unknown): string {
  if (typeof value === 'string') return quoted(harmless(value))
  return typeof value === 'object' && value !== null ? quoted(JSON.stringify(value)) : String(value ?? '')
}

// A spreadsheet runs a text that begins with one of these (OWASP, "CSV Injection"). A tab and a CR get lost on import, and
// the next character is the first one then.
const harmless = (text: string): string => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text)

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
