import width from 'string-width'

/** Prints the result of a command: one JSON document with `--json`, else text. */
export function print(options: { json?: boolean }, answer: unknown, text: string): void {
  process.stdout.write(`${options.json ? JSON.stringify(answer) : text}\n`)
}

type Rows = readonly (readonly unknown[])[]

/** Formats rows as aligned columns for a person (on a terminal), else as tab-separated lines. */
export function table(head: readonly string[], rows: Rows, forPerson = process.stdout.isTTY === true): string {
  if (forPerson) return columns(head, rows)
  return [head, ...rows.map((row) => row.map(cell))].map((row) => row.join('\t')).join('\n')
}

/** The same for records of many fields: a person is spared the columns that no row fills. */
export function list(head: readonly string[], rows: Rows, forPerson = process.stdout.isTTY === true): string {
  const isFilled = head.map((_, n) => rows.some((row) => row[n] != null && row[n] !== ''))
  const kept = (row: readonly unknown[]) => (forPerson && rows.length > 0 ? row.filter((_, n) => isFilled[n]) : row)
  return table(kept(head).map(String), rows.map(kept), forPerson)
}

function columns(head: readonly string[], rows: Rows): string {
  const isNumeric = head.map((_, n) => rows.some((row) => row[n] != null) && rows.every((row) => isNumber(row[n])))
  return aligned(
    head,
    rows.map((row) => row.map(cell)),
    { isNumeric },
  )
}

interface Alignment {
  /** Columns that are right-aligned. */
  isNumeric: readonly boolean[]
  /** Colours a padded cell. */
  paint?: (text: string, row: number, column: number) => string
}

/** Headings, a rule, rows. Columns of numbers are right-aligned. */
export function aligned(
  head: readonly string[],
  cells: readonly (readonly string[])[],
  { isNumeric, paint = (text) => text }: Alignment,
): string {
  // A report has more rows than a call may have arguments.
  const widths = head.map((title, n) => cells.reduce((wide, row) => Math.max(wide, width(row[n] ?? '')), width(title)))
  const padded = (row: readonly string[]) => widths.map((wide, n) => pad(row[n] ?? '', wide, isNumeric[n] === true))
  const rule = '-'.repeat(widths.reduce((sum, wide) => sum + wide + 2, -2))
  const lines = cells.map((row, at) => padded(row).map((text, n) => paint(text, at, n)))
  return [padded(head), [rule], ...lines].map((line) => line.join('  ').trimEnd()).join('\n')
}

const isNumber = (value: unknown): boolean => value == null || typeof value === 'number'

function pad(text: string, wide: number, toTheRight: boolean): string {
  const space = ' '.repeat(Math.max(0, wide - width(text)))
  return toTheRight ? space + text : text + space
}

/** Formats one object as `name  value` lines. */
export function lines(fields: Record<string, unknown>): string {
  const width = Math.max(...Object.keys(fields).map((name) => name.length))
  return Object.entries(fields)
    .map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}`)
    .join('\n')
}

/** Replaces control characters, which a terminal would obey, and characters that hide or turn around the text near them. */
export const printable = (text: string): string => text.replace(/\p{Cc}|\p{Cf}/gu, '?')

/** Formats a value of a table. */
export function cell(value: unknown): string {
  if (value === null || value === undefined) return '-'
  const text = Array.isArray(value)
    ? value.join(',')
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value)
  return printable(text)
}
