import Table from 'cli-table3'

/** Prints the one answer of a command: a JSON document with `--json`, else its text. */
export function print(options: { json?: boolean }, answer: unknown, text: string): void {
  process.stdout.write(`${options.json ? JSON.stringify(answer) : text}\n`)
}

/** Rows under their headings: a drawn table on a terminal, else tab-separated lines. */
export function table(head: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = rows.map((row) => row.map(cell))
  if (!process.stdout.isTTY) return [head, ...cells].map((row) => row.join('\t')).join('\n')
  const drawn = new Table({ head: [...head], style: { head: [], border: [] } })
  drawn.push(...cells)
  return drawn.toString()
}

/** `name  value` lines for one thing. */
export function lines(fields: Record<string, unknown>): string {
  const width = Math.max(...Object.keys(fields).map((name) => name.length))
  return Object.entries(fields)
    .map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}`)
    .join('\n')
}

/** Control characters of a foreign name must not reach the terminal. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return '-'
  const text = Array.isArray(value) ? value.join(',') : String(value)
  return text.replace(/\p{Cc}/gu, '?')
}
