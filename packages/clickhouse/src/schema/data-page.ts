import type { Table } from '@tributary/contracts/table'
import { type TableName, tableNames, tables } from '@tributary/contracts/tables'
import type { Clickhouse } from '../clickhouse.ts'
import { readViewSources } from './view-sources.ts'

interface Column {
  table: string
  name: string
  type: string
  comment: string
}

/** The text of docs/data.md: what the tables declare, with their columns as a migrated engine has them. */
export async function dataPage(clickhouse: Clickhouse): Promise<string> {
  const columns = await clickhouse.query<Column>(
    'SELECT table, name, type, comment FROM system.columns WHERE database = currentDatabase() ORDER BY position',
  )
  const views = await readViewSources(clickhouse)
  const sections = tableNames.map((name) =>
    section(name, {
      columns: columns.filter(({ table }) => table === name),
      filled_from: views.get(name)?.source,
    }),
  )
  return `${introduction}\n${sections.join('\n')}`
}

const introduction = `# Data in ClickHouse

Made by \`npm run dump\` from \`packages/contracts/src/tables\` and the migrations. Do not
edit. A view fills a table with the rights of \`migrator\`; the writers of such a table complete it after a crash. \`migrator\`
may read and write every table. A column is personal when it holds something of a person: an id, an address, a device,
what somebody sent, or a hash of these.
`

function section(name: TableName, { columns, filled_from }: { columns: Column[]; filled_from: string | undefined }) {
  const { row, writers, readers, personal, swept_from }: Table = tables[name]
  const facts = [
    `One row is ${row}.`,
    `Writers: ${writers.join(', ')}. Readers: ${readers.join(', ')}.`,
    ...(filled_from === undefined ? [] : [`A view fills it from \`${filled_from}\`.`]),
    ...(swept_from === undefined ? [] : [`Its writers fill it from \`${swept_from}\`.`]),
  ]
  const rows = columns.map(({ name: column, type, comment }) => [
    `\`${column}\``,
    `\`${type}\``,
    comment.replaceAll('|', '\\|'),
    personal.includes(column) ? 'yes' : '',
  ])
  return `## ${name}\n\n${facts.join(' ')}\n\n${table([['Column', 'Type', 'Meaning', 'Personal'], ...rows])}\n`
}

/** A Markdown table; its first row is the head. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, n) => Math.max(...rows.map((row) => row[n]!.length)))
  const line = (cells: readonly string[]) => `| ${cells.map((cell, n) => cell.padEnd(widths[n]!)).join(' | ')} |`
  const [head, ...body] = rows
  return [line(head!), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n')
}
